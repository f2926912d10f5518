"""The real promptfoo, offline: found in the environment, else what needs it is skipped."""

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

VERSION = "0.121.20"
CACHE = Path.home() / ".cache" / "ragstone" / f"promptfoo-{VERSION}"
QUIET = {
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
    "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
    "NO_COLOR": "1",
}
INSTALL = f"npm install --prefix {CACHE} promptfoo@{VERSION}"

Results = list[dict[str, object]]


@dataclass(frozen=True)
class Evaluated:
    """What one `promptfoo eval` came to: its exit code, what it printed, what it wrote."""

    code: int
    said: str
    document: dict[str, object]

    @property
    def tests(self) -> Results:
        """One object a test, in the configuration's order."""
        results = self.document["results"]
        assert isinstance(results, dict)
        return sorted(results["results"], key=lambda test: test["testIdx"])


Promptfoo = Callable[..., Awaitable[Evaluated]]


def program() -> tuple[Path | None, str]:
    """Return the program, or why there is none."""
    named = os.environ.get("PROMPTFOO_BIN")
    place = Path(named) if named else CACHE / "node_modules" / ".bin" / "promptfoo"
    if shutil.which("node") is None:
        return None, "promptfoo runs on Node, which is not here"
    if not place.exists():
        return None, f"there is no promptfoo at {place}; {INSTALL}, or say PROMPTFOO_BIN"
    about = next(up / "package.json" for up in place.resolve().parents if up.name == "promptfoo")
    found = json.loads(about.read_text(encoding="utf-8"))["version"]
    if found != VERSION:
        return None, f"this is promptfoo {found}, and {VERSION} is meant; {INSTALL}"
    return place, ""


@pytest.fixture
def promptfoo(tmp_path: Path) -> Promptfoo:
    """Run `promptfoo eval` in an empty folder; skip where it is not installed."""
    place, lacking = program()
    if place is None:
        pytest.skip(lacking)

    async def evaluate(
        config: Mapping[str, object], files: Mapping[str, str], *, cache: bool = False, **env: str
    ) -> Evaluated:
        for name, text in files.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        written = tmp_path / "promptfooconfig.json"
        written.write_text(json.dumps(config), encoding="utf-8")
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        home = {"HOME": str(tmp_path), "PROMPTFOO_CONFIG_DIR": str(tmp_path / "promptfoo")}
        process = await asyncio.create_subprocess_exec(
            *(str(place), "eval", "-c", written.name, "-o", "out.json"),
            *("--no-progress-bar", "--no-table", "--max-concurrency", "2"),
            *(() if cache else ("--no-cache",)),
            cwd=tmp_path,
            env={**kept, **QUIET, **home, "PROMPTFOO_PYTHON": sys.executable, **env},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await asyncio.wait_for(process.communicate(), 240)
        out = tmp_path / "out.json"
        assert out.exists(), said.decode()
        document = json.loads(out.read_text(encoding="utf-8"))
        return Evaluated(process.returncode or 0, said.decode(), document)

    return evaluate
