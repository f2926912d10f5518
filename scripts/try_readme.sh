#!/usr/bin/env bash
# Run the README's set-up commands as a newcomer would: fresh clone, fresh venv, empty HOME.
set -euo pipefail
repo=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/home"
git clone --quiet "$repo" "$work/clone"
cd "$work/clone"

# the two commands that set something up: the demo, and the tests
mapfile -t commands < <(awk '/^```sh$/ {inside = 1; next} /^```$/ {inside = 0} inside' README.md | grep '[.]venv/bin/pip')
[ "${#commands[@]}" -eq 2 ]
for command in "${commands[@]}"; do
  echo "== $command"
  start=$SECONDS
  env -u CI -u PYTHONDONTWRITEBYTECODE HOME="$work/home" PATH="$(dirname "$(command -v python3)"):/usr/bin:/bin" bash -c "$command"
  echo "== took $((SECONDS - start)) s"
done
ls -l results
