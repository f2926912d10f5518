"""What tests of judges came to, kept in a file of the working folder, by the judge's identity."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import NamedTemporaryFile

from pydantic import TypeAdapter, ValidationError

from ragstone._internal.files import lock_file
from ragstone.evaluation.judge_testing.result import JudgeTest

KEPT = Path(".ragstone") / "judge-tests.json"
"""Where the tests of each judge are kept."""

_BETWEEN = " "
"""What stands between the judge's key and the data's name."""

LONGEST = 10.0
"""Seconds to wait for another process that keeps a test: writing takes a moment."""

_TESTS: TypeAdapter[dict[str, JudgeTest]] = TypeAdapter(dict[str, JudgeTest])


@dataclass(frozen=True)
class Keeping:
    """What came of keeping a test.

    Attributes:
        aside: where a file went that could not be read; None if it could.
        larger: the test of the same data, of more claims, that stays instead; None if none does.
    """

    aside: Path | None = None
    larger: JudgeTest | None = None


def kept(key: str) -> JudgeTest | None:
    """Return the test of the judge with that key that has the most claims, of several the newest.

    None if there is none that can be read.
    """
    own = [test for name, test in _read().items() if name.partition(_BETWEEN)[0] == key]
    return max(own, key=lambda test: (test.claims, test.at), default=None)


def keep(key: str, test: JudgeTest) -> Keeping:
    """Keep a test: one for each judge and data, in the place of an older one.

    One of more claims stays, unless the data have changed since. Claims one by one are not kept.
    One process at a time does so, so that none loses what another one keeps. A file that cannot be
    read is not written over: it is set aside.

    Raises:
        OSError: the file cannot be written, or another process has it for too long.
    """
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    with lock_file(KEPT.with_suffix(".lock"), timeout=LONGEST):
        aside: Path | None = None
        try:
            before = _TESTS.validate_json(KEPT.read_bytes())
        except FileNotFoundError:
            before = {}
        except ValidationError:
            before, aside = {}, _free_name()
            KEPT.replace(aside)
        name = f"{key}{_BETWEEN}{test.data}"
        older = before.get(name)
        if older and older.fingerprint == test.fingerprint and older.claims > test.claims:
            return Keeping(aside, older)
        tests = {**before, name: test.model_copy(update={"tried": ()})}
        text = json.dumps(_TESTS.dump_python(tests, mode="json"), ensure_ascii=True, indent=1)
        with NamedTemporaryFile("w", dir=KEPT.parent, suffix=".part", delete=False) as file:
            file.write(text)
        Path(file.name).replace(KEPT)
    return Keeping(aside)


def _read() -> Mapping[str, JudgeTest]:
    try:
        return _TESTS.validate_json(KEPT.read_bytes())
    except (OSError, ValidationError):  # none yet, or of another version
        return {}


def _free_name() -> Path:
    names = (KEPT.with_name(f"{KEPT.stem}.unread-{n}.json") for n in count(1))
    return next(name for name in names if not name.exists())
