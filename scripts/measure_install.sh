#!/usr/bin/env bash
# Print what the core weighs, installed by pip in a venv of its own: budgets 120 MB without .pyc, 170 as pip leaves it; two more pass, because releases of dependencies vary.
set -euo pipefail
repo=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv --without-pip "$work/venv"
site=$("$work/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
python3 -m pip --python "$work/venv/bin/python" install --quiet "$repo"
as_left=$(du -sm "$site" | cut -f1)
find "$site" -name '*.pyc' -delete
bare=$(du -sm "$site" | cut -f1)
echo "core install: $bare MB without .pyc (120 at most), $as_left MB as pip leaves it (170 at most)"
du -sm "$site"/* | sort -rn | sed -n 1,8p
[ "$bare" -le 122 ] && [ "$as_left" -le 172 ]
