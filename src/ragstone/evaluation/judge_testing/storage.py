"""Stores the newest test of each judge in a file of the working directory."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import NamedTemporaryFile

from pydantic import TypeAdapter, ValidationError

from ragstone._internal.files import lock_file
from ragstone.evaluation.judge_testing.result import JudgeTest

FILE = Path(".ragstone") / "judge-tests.json"

_BETWEEN = " "
"""Separates the judge's key from the data's name."""

LOCK_TIMEOUT = 10.0
"""Seconds to wait for another process that saves a test."""

_TESTS: TypeAdapter[dict[str, JudgeTest]] = TypeAdapter(dict[str, JudgeTest])


@dataclass(frozen=True)
class SaveResult:
    """The result of saving a test.

    Attributes:
        backup: where an unreadable file was moved.
        larger: the stored test of the same data with more claims, which was not replaced.
    """

    backup: Path | None = None
    larger: JudgeTest | None = None


def load_test(key: str) -> JudgeTest | None:
    """Return the judge's stored test with the most claims; the newest of equal ones."""
    tests: Mapping[str, JudgeTest] = {}
    with suppress(OSError, ValidationError):  # none yet, or from another version
        tests = _TESTS.validate_json(FILE.read_bytes())
    own = [test for name, test in tests.items() if name.partition(_BETWEEN)[0] == key]
    return max(own, key=lambda test: (test.claims, test.at), default=None)


def save_test(key: str, test: JudgeTest) -> SaveResult:
    """Save a test, without its single claims, in place of an older one of this judge and data.

    An older test with more claims is not replaced, unless the data changed. An unreadable file is
    moved to a backup.

    Raises:
        OSError: the file cannot be written, or another process locks it for too long.
    """
    FILE.parent.mkdir(parents=True, exist_ok=True)
    with lock_file(FILE.with_suffix(".lock"), timeout=LOCK_TIMEOUT):
        backup: Path | None = None
        try:
            before = _TESTS.validate_json(FILE.read_bytes())
        except FileNotFoundError:
            before = {}
        except ValidationError:
            names = (FILE.with_name(f"{FILE.stem}.unread-{n}.json") for n in count(1))
            before, backup = {}, next(name for name in names if not name.exists())
            FILE.replace(backup)
        name = f"{key}{_BETWEEN}{test.data}"
        older = before.get(name)
        if older and older.fingerprint == test.fingerprint and older.claims > test.claims:
            return SaveResult(backup, older)
        tests = {**before, name: test.model_copy(update={"tried": ()})}
        text = json.dumps(_TESTS.dump_python(tests, mode="json"), ensure_ascii=True, indent=1)
        with NamedTemporaryFile("w", dir=FILE.parent, suffix=".part", delete=False) as file:
            file.write(text)
        Path(file.name).replace(FILE)
    return SaveResult(backup)
