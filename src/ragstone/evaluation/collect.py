"""ResponseJournal: what a target has answered so far, a line a row: a crash loses none of it."""

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ragstone._internal.concurrency import finish_in_thread
from ragstone._internal.files import open_locked
from ragstone._internal.text import public_url
from ragstone.datasets import Dataset
from ragstone.datasets.adapters.responses import MODES, UNFINISHED, response_record
from ragstone.errors import Cause, InputError, Problem, UsageError
from ragstone.evaluation.ask_target import ask_target
from ragstone.targets import Target, get_target
from ragstone.targets.base import FIELDS
from ragstone.targets.spec import ApiDescription, filled_variables
from ragstone.types.config import Plan
from ragstone.types.reply import Failure
from ragstone.types.row import Row
from ragstone.types.sample import Context, Sample

ENDING = UNFINISHED
"""What the name of such a file has, after that of the file which it becomes."""


class Why(BaseModel):
    """Why a field was not given: the class of reason, and the details in words."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cause: Cause
    message: str


class Kept(BaseModel):
    """What a target answered for one row."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    index: Annotated[int, Field(ge=0)]
    id: str
    query: str
    response: str | None = None
    contexts: tuple[Context, ...] | None = None
    ranking: tuple[Context, ...] | None = None
    failures: Mapping[str, Why] = Field(default_factory=dict[str, Why])

    @classmethod
    def of(cls, row: Row) -> "Kept":
        """Take what is to be kept of a row that was asked for."""
        sample = row.sample
        return cls(
            index=row.index,
            id=sample.id,
            query=sample.query,
            **{field: getattr(sample, field) for field in FIELDS},
            failures={
                field: Why(cause=failure.cause, message=failure.message)
                for field, failure in row.lacking.items()
            },
        )

    def row(self, sample: Sample) -> Row:
        """Return the row again, with the answer."""
        given = {field: getattr(self, field) for field in FIELDS}
        lacking = {name: Failure(why.cause, why.message) for name, why in self.failures.items()}
        return Row(self.index, sample.model_copy(update=given), lacking=lacking)


class ResponseJournal:
    """The answers of one collection, in a file that is this process's alone, within `with`.

    Attributes:
        path: where they are.
        rows: place of a row, from 0 -> the row with its answer.
        beyond: the places of kept rows that were not asked for this time.
    """

    def __init__(
        self,
        path: Path,
        samples: Sequence[Sample],
        *,
        asked: Mapping[str, object],
        fresh: bool = False,
    ) -> None:
        """Name the file. `asked` is how the target is asked: the answers' identity.

        With `fresh` nothing that is kept counts; it stays until there is a first answer.
        """
        self.path = path
        self.rows: dict[int, Row] = {}
        self.beyond: set[int] = set()
        self._asked = dict(asked)
        self._samples = samples
        self._fresh = fresh
        self._length: int | None = 0
        self._over = False

    def __enter__(self) -> "ResponseJournal":
        """Lock the file, and read what is kept already.

        Raises:
            UsageError: another process is at it, it is of another collection, or it cannot be
                read or written.
            InputError: it is damaged.
        """
        with _refused(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open_locked(self.path)
        with ExitStack() as stack:
            stack.callback(self._file.close)
            if not self._fresh:
                with _refused(self.path):
                    self._file.seek(0)
                    content = self._file.readall()
                self._read(content)
            stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file; it stays, unless it holds nothing or was discarded."""
        gone = self._over or not os.fstat(self._file.fileno()).st_size
        if gone and sys.platform != "win32":
            self.path.unlink(missing_ok=True)  # while nobody else can have begun in it
        self._file.close()
        if gone and sys.platform == "win32":  # which keeps a file that is open
            self.path.unlink(missing_ok=True)

    def add(self, row: Row) -> None:
        """Keep the answer to one row; after this, no crash of ours loses it.

        Raises:
            UsageError: the file cannot be written.
        """
        with _refused(self.path):
            if self._length is not None:
                self._begin(self._length)
            self._write(Kept.of(row).model_dump_json(exclude_none=True))
        self.rows[row.index] = row

    def discard(self) -> None:
        """Have the file deleted in the end: its answers are elsewhere, or not wanted."""
        self._over = True

    @property
    def answered(self) -> frozenset[int]:
        """The places of the rows for which everything was given."""
        return frozenset(index for index, row in self.rows.items() if not row.lacking)

    @property
    def has_more(self) -> bool:
        """Whether the file is of use still: a row failed, or was not asked for this time."""
        return bool(self.beyond) or len(self.answered) < len(self._samples)

    def _begin(self, length: int) -> None:
        """Cut off what a crash left of a line; a file that holds nothing begins with its header."""
        self._file.truncate(length)
        self._length = None
        if not length:
            self._write(json.dumps(self._asked, ensure_ascii=False))

    def _write(self, line: str) -> None:
        rest = line.encode() + b"\n"
        while rest:
            rest = rest[self._file.write(rest) :]

    def _read(self, content: bytes) -> None:
        whole, newline, _ = content.rpartition(b"\n")
        self._length = len(whole + newline)
        if not self._length:
            return
        first, *lines = whole.split(b"\n")
        if (then := _loaded(first)) != self._asked:
            raise UsageError(
                f"{self.path} holds answers to another collection: {_difference(then, self._asked)}"
                "; ask as then, or begin anew with --fresh"
            )
        for number, line in enumerate(lines, 2):
            self._take(line, number)

    def _take(self, line: bytes, number: int) -> None:
        try:
            kept = Kept.model_validate_json(line)
        except ValidationError as error:
            seen = f"this is no kept answer: {error.errors()[0]['msg']}"
            fix = "delete the line, or begin anew with --fresh"
            raise InputError(str(self.path), [Problem(seen, fix, row=number)]) from None
        if kept.index >= len(self._samples):  # a collection of more rows, of which fewer are asked
            self.beyond.add(kept.index)
            return
        sample = self._samples[kept.index]
        if (kept.id, kept.query) != (sample.id, sample.query):
            raise UsageError(
                f"{self.path} holds an answer to {kept.query[:80]!r} where the data now have "
                f"{sample.query[:80]!r} (row {kept.index + 1}); begin anew with --fresh"
            )
        self.rows[kept.index] = kept.row(sample)


def discard(path: Path) -> None:
    """Delete a file of kept answers, unless another process is at it."""
    with suppress(UsageError), ResponseJournal(path, (), asked={}, fresh=True) as kept:
        kept.discard()


def _difference(then: object, now: Mapping[str, object]) -> str:
    """Say in what the way of asking differs from the way in which kept answers were asked for."""
    if not isinstance(then, Mapping):
        return "its first line does not say which"
    was = cast("Mapping[str, object]", then)
    names = [name for name in {**now, **was} if was.get(name) != now.get(name)]
    return ", ".join(f"{name} was {was.get(name)!r}, not {now.get(name)!r}" for name in names)


@contextmanager
def _refused(path: Path) -> Generator[None, None, None]:
    """Tell what the system refuses as something that the user can fix."""
    try:
        yield
    except BlockingIOError:
        raise UsageError(
            f"another process is collecting into {path}; wait for its end, or name another -o"
        ) from None
    except OSError as error:
        why = error.strerror or str(error)
        raise UsageError(f"answers cannot be kept in {path}: {why}; name another -o") from error


def _loaded(line: bytes) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


# Asking: a data set is put to a target now, and the answers are kept, to be judged later.

NOTE = "in chat mode a row may have more contexts than top_k: they are what the answer was made of"


def asked_for(mode: str, target: Target) -> frozenset[str]:
    """Return the Sample fields that a mode asks a target for.

    Raises:
        UsageError: the target does not give what the mode is for.
    """
    wanted = MODES[mode]
    if wanted[0] not in target.gives:
        others = [name for name, fields in MODES.items() if fields[0] in target.gives]
        offer = f"; use --mode {others[0]}" if others else ""
        gives = " and ".join(sorted(target.gives))
        raise UsageError(
            f"--mode {mode} asks for a {wanted[0]}, and {target.name} gives {gives}{offer}"
        )
    return target.gives.intersection(wanted)


def asked_as(target: str, *, plan: Plan, mode: str) -> Mapping[str, object]:
    """Return how a target is asked: answers that were asked for otherwise are none to go on with.

    Of its URL, or of the file that describes it, there is a fingerprint, as these may hold secrets.

    Raises:
        TargetError, InputError: the target's file cannot be read.
    """
    is_url = target.lower().startswith(("http://", "https://"))
    return {
        "mode": mode,
        "target": public_url(target) if is_url else target,
        "target_fingerprint": sha256(_whole(target, is_url=is_url).encode()).hexdigest()[:16],
        "top_k": max(plan.cutoffs),
        "score_threshold": plan.min_similarity,
    }


def _whole(target: str, *, is_url: bool) -> str:
    """Return all that says what a target answers, its variables filled, but in headers.

    Tokens stand in headers, and a new one gives no other answers.
    """
    if is_url:
        return filled_variables(target)
    if not target.lower().endswith((".yaml", ".yml")):
        return target
    said = ApiDescription.read(Path(target))
    filled = [said.base, *([call.url, call.body] for call in said.calls.values())]
    written = said.model_dump_json(include={"base", "headers", "calls"})
    return written + filled_variables(json.dumps(filled))


@dataclass(frozen=True)
class Asking:
    """One data set, one target, and the answers that are kept as they come.

    Attributes:
        mode: `chat` asks for answers and their contexts, `search` for a ranking; see MODES.
    """

    dataset: Dataset
    plan: Plan
    mode: str
    target: Target
    wanted: frozenset[str]
    kept: ResponseJournal

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        *,
        plan: Plan,
        mode: str,
        target: str,
        part: Path,
        fresh: bool = False,
    ) -> "Asking":
        """Check what can be checked before the file is locked in which answers are kept.

        `part` is where that is; what it holds is not asked again, but for what failed. With
        `fresh` all is.

        Raises:
            UsageError: the target cannot be asked in this mode.
        """
        made = get_target(target, plan, k=max(plan.cutoffs))
        wanted = asked_for(mode, made)
        asked = asked_as(target, plan=plan, mode=mode)
        kept = ResponseJournal(part, dataset.samples, asked=asked, fresh=fresh)
        return cls(dataset, plan, mode, made, wanted, kept)

    def finish(self, on_row: Callable[[Row, int], None]) -> None:
        """Ask for every row that has no answer yet, within `with` of what is kept.

        `on_row` is told each row, and how many there are.

        Raises:
            KeyboardInterrupt: Ctrl-C; what was answered is kept.
            UsageError: the target cannot be asked at all, or answers cannot be kept; what was
                answered before is.
        """
        if rows := list(self._rows()):
            finish_in_thread(lambda: self._finish(rows, on_row))

    async def _finish(self, rows: Sequence[Row], on_row: Callable[[Row, int], None]) -> None:
        collection = ask_target(
            rows, self.target, wanted=self.wanted, every=True, concurrency=self.plan.concurrency
        )
        async with self.target, collection as answered:
            async for row in answered:
                self.kept.add(row)
                on_row(row, len(rows))

    def _rows(self) -> Iterator[Row]:
        done = self.kept.answered
        for index, sample in enumerate(self.dataset.samples):
            if index not in done:
                # what the data hold of an answer is not the target's: none of it is to stay
                fields: dict[str, None] = dict.fromkeys(FIELDS)
                yield Row(index, sample.model_copy(update=fields))

    @property
    def causes(self) -> Mapping[str, int]:
        """Why rows failed -> how many did; a row counts once for each cause."""
        rows = self.kept.rows.values()
        return Counter(
            cause for row in rows for cause in {f.cause.value for f in row.lacking.values()}
        )

    @property
    def reasons(self) -> Mapping[str, str]:
        """Why rows failed -> what the first of them says of it."""
        said: dict[str, str] = {}
        for _, row in sorted(self.kept.rows.items()):
            for failure in row.lacking.values():
                said.setdefault(failure.cause.value, failure.message)
        return said

    @property
    def failed(self) -> int:
        """How many rows lack something that was asked for."""
        return sum(bool(row.lacking) for row in self.kept.rows.values())

    def document(self) -> Mapping[str, object]:
        """Return what is to be saved: `{metadata, responses}`, rows in the order of the data."""
        rows = [self.kept.rows[index] for index in sorted(self.kept.rows)]
        metadata = {
            "mode": self.mode,
            "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "test_data_path": self.dataset.source.path,
            "top_k": max(self.plan.cutoffs),
            "score_threshold": self.plan.min_similarity,
            "total_queries": len(rows),
            "failed_queries": self.failed,
            "note": NOTE if self.mode == "chat" else "",
            "target": self.target.name,
            "ragstone": version("ragstone"),
        }
        return {
            "metadata": metadata,
            "responses": [
                response_record(row.index, row.sample, row.lacking, mode=self.mode) for row in rows
            ],
        }
