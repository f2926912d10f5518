"""Collecting: asks a target for responses and saves them, to be evaluated later."""

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, cast

from pydantic import Field, ValidationError

from ragstone._internal.concurrency import finish_in_thread
from ragstone._internal.fields import FrozenModel
from ragstone._internal.files import open_locked
from ragstone._internal.text import describe_fault, public_url
from ragstone.datasets import Dataset
from ragstone.datasets.adapters.responses import MODES, UNFINISHED, response_record
from ragstone.errors import Cause, InputError, Problem, UsageError
from ragstone.evaluation.scoring import CircuitBreaker, ask_target
from ragstone.targets.base import FIELDS, Target
from ragstone.targets.factory import FILES, get_target
from ragstone.targets.spec import ApiDescription, fill_variables
from ragstone.types.config import Plan
from ragstone.types.reply import Failure
from ragstone.types.row import Row
from ragstone.types.sample import Context, Sample

ENDING = UNFINISHED
"""Added to the name of the output file to name its journal."""
NOTE = "in chat mode, rows can have more contexts than top_k: those the response was generated from"


class FieldFailure(FrozenModel):
    """Why the target did not return a field."""

    cause: Cause
    message: str


class SavedResponse(FrozenModel):
    """What a target returned for one row; one line of a journal."""

    index: Annotated[int, Field(ge=0)]
    id: str
    query: str
    response: str | None = None
    contexts: tuple[Context, ...] | None = None
    ranking: tuple[Context, ...] | None = None
    failures: Mapping[str, FieldFailure] = Field(default_factory=dict[str, FieldFailure])

    @classmethod
    def of(cls, row: Row) -> "SavedResponse":
        sample = row.sample
        return cls(
            index=row.index,
            id=sample.id,
            query=sample.query,
            **{field: getattr(sample, field) for field in FIELDS},
            failures={
                field: FieldFailure(cause=failure.cause, message=failure.message)
                for field, failure in row.failures.items()
            },
        )

    def row(self, sample: Sample) -> Row:
        fields = {field: getattr(self, field) for field in FIELDS}
        failures = {name: Failure(why.cause, why.message) for name, why in self.failures.items()}
        return Row(self.index, sample.model_copy(update=fields), failures=failures)


class ResponseJournal:
    """The responses collected so far, in a file with one line per row; a crash loses none.

    Attributes:
        rows: index -> the row with its response.
        beyond: indexes of saved rows that are not part of this collection.
    """

    def __init__(
        self,
        path: Path,
        samples: Sequence[Sample],
        *,
        settings: Mapping[str, object],
        fresh: bool = False,
    ) -> None:
        """Set the file; `settings` describe how the target is asked and identify the collection.

        With `fresh`, saved responses are ignored, and replaced when the first new one is added.
        """
        self.path = path
        self.rows: dict[int, Row] = {}
        self.beyond: set[int] = set()
        self._settings = dict(settings)
        self._samples = samples
        self._fresh = fresh
        self._length: int | None = 0  # of the valid content; None once writing has started
        self._discarded = False

    def __enter__(self) -> "ResponseJournal":
        with _translate_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open_locked(self.path)
        with ExitStack() as stack:
            stack.callback(self._file.close)
            if not self._fresh:
                with _translate_errors(self.path):
                    self._file.seek(0)
                    content = self._file.readall()
                self._read(content)
            stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        unneeded = self._discarded or not os.fstat(self._file.fileno()).st_size
        if unneeded and sys.platform != "win32":
            self.path.unlink(missing_ok=True)  # while no other process can lock it
        self._file.close()
        if unneeded and sys.platform == "win32":  # cannot delete an open file
            self.path.unlink(missing_ok=True)

    def add(self, row: Row) -> None:
        with _translate_errors(self.path):
            if self._length is not None:
                self._file.truncate(self._length)  # removes a partial last line after a crash
                if not self._length:
                    self._write(json.dumps(self._settings, ensure_ascii=False))
                self._length = None
            self._write(SavedResponse.of(row).model_dump_json(exclude_none=True))
        self.rows[row.index] = row

    def discard(self) -> None:
        """Delete the file on exit, because its responses are saved elsewhere or not needed."""
        self._discarded = True

    @property
    def answered(self) -> frozenset[int]:
        return frozenset(index for index, row in self.rows.items() if not row.failures)

    @property
    def has_more(self) -> bool:
        """Whether the file is still needed, because rows failed or are not part of this run."""
        return bool(self.beyond) or len(self.answered) < len(self._samples)

    def _write(self, line: str) -> None:
        rest = line.encode() + b"\n"
        while rest:
            rest = rest[self._file.write(rest) :]

    def _read(self, content: bytes) -> None:
        complete, newline, _ = content.rpartition(b"\n")
        self._length = len(complete + newline)
        if not self._length:
            return
        first, *lines = complete.split(b"\n")
        try:
            earlier: object = json.loads(first)
        except (ValueError, RecursionError):
            earlier = None
        now = self._settings
        if earlier != now:
            differs = "its first line has no valid settings"
            if isinstance(earlier, Mapping):
                was = cast("Mapping[str, object]", earlier)
                names = [name for name in {**now, **was} if was.get(name) != now.get(name)]
                changes = (f"{n} was {was.get(n)!r}, is {now.get(n)!r}" for n in names)
                differs = ", ".join(changes)
            raise UsageError(
                f"{self.path} contains responses collected with other settings: {differs}; "
                "restore the settings, or use --fresh to start again"
            )
        for number, line in enumerate(lines, 2):
            try:
                saved = SavedResponse.model_validate_json(line)
            except ValidationError as error:
                text = f"not a saved response: {describe_fault(error.errors()[0])}"
                fix = "delete the line, or use --fresh to start again"
                raise InputError(
                    str(self.path), [Problem(text, fix, row=number, unit="line")]
                ) from None
            if saved.index >= len(self._samples):  # --limit is lower than before
                self.beyond.add(saved.index)
                continue
            sample = self._samples[saved.index]
            if (saved.id, saved.query) != (sample.id, sample.query):
                raise UsageError(
                    f"{self.path} contains a response to {saved.query[:80]!r}, but row "
                    f"{saved.index + 1} of the data is now {sample.query[:80]!r}; "
                    "use --fresh to start again"
                )
            self.rows[saved.index] = saved.row(sample)


def discard_journal(path: Path) -> None:
    """Delete a journal, unless another process uses it."""
    with suppress(UsageError), ResponseJournal(path, (), settings={}, fresh=True) as journal:
        journal.discard()


@contextmanager
def _translate_errors(path: Path) -> Generator[None, None, None]:
    try:
        yield
    except BlockingIOError:
        raise UsageError(
            f"another process is collecting into {path}; wait until it ends, or choose "
            "another file with -o"
        ) from None
    except OSError as error:
        why = error.strerror or str(error)
        raise UsageError(
            f"cannot save responses in {path}: {why}; choose another file with -o"
        ) from error


def fields_of_mode(mode: str, target: Target) -> frozenset[str]:
    wanted = MODES[mode]
    if wanted[0] not in target.gives:
        others = [name for name, fields in MODES.items() if fields[0] in target.gives]
        hint = f"; use --mode {others[0]}" if others else ""
        gives = " and ".join(sorted(target.gives))
        raise UsageError(
            f"--mode {mode} needs a {wanted[0]}, but {target.name} returns {gives}{hint}"
        )
    return target.gives.intersection(wanted)


def collection_settings(target: str, *, plan: Plan, mode: str) -> Mapping[str, object]:
    """Return how a target is asked; a collection can only be continued with the same settings.

    URLs and target files are hashed, because they may contain secrets. Headers are ignored: a new
    token does not change the responses.
    """
    is_url = target.lower().startswith(("http://", "https://"))
    if is_url:
        described = fill_variables(target)
    elif target.lower().endswith(FILES):
        description = ApiDescription.read(Path(target))
        calls = description.calls.values()
        filled = [description.base, *([call.url, call.body] for call in calls)]
        described = description.model_dump_json(include={"base", "headers", "calls"})
        described += fill_variables(json.dumps(filled))
    else:
        described = target
    return {
        "mode": mode,
        "target": public_url(target) if is_url else target,
        "target_fingerprint": sha256(described.encode()).hexdigest()[:16],
        "top_k": max(plan.cutoffs),
        "score_threshold": plan.min_similarity,
    }


@dataclass(frozen=True)
class Collector:
    """Collects the responses of one target to one data set.

    Attributes:
        mode: `chat` asks for responses and contexts, `search` for rankings; see MODES.
    """

    dataset: Dataset
    plan: Plan
    mode: str
    target: Target
    wanted: frozenset[str]
    journal: ResponseJournal
    breaker: CircuitBreaker

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
    ) -> "Collector":
        """Check the settings; `part` is the journal's file.

        Rows that the journal contains are not asked again, unless they failed or `fresh` is set.
        """
        named = get_target(target, plan, k=max(plan.cutoffs))
        named.check(dataset.samples)
        wanted = fields_of_mode(mode, named)
        settings = collection_settings(target, plan=plan, mode=mode)
        journal = ResponseJournal(part, dataset.samples, settings=settings, fresh=fresh)
        breaker = CircuitBreaker(plan)
        return cls(dataset, plan, mode, named, wanted, journal, breaker)

    def run(self, on_row: Callable[[Row, int], None]) -> None:
        """Ask for every row without a response, those that failed last; the journal must be open.

        `on_row` is called with each row and the number of rows. Stops early if the target seems to
        be down; see CircuitBreaker.
        """
        done = self.journal.answered
        cleared: dict[str, None] = dict.fromkeys(FIELDS)  # ignore responses in the data
        rows = [
            Row(index, sample.model_copy(update=cleared))
            for index, sample in enumerate(self.dataset.samples)
            if index not in done
        ]
        rows.sort(key=lambda row: row.index in self.journal.rows)

        def add(row: Row) -> None:
            self.journal.add(row)
            on_row(row, len(rows))

        async def collect() -> None:
            answered = ask_target(
                rows, self.target, wanted=self.wanted, every=True, concurrency=self.plan.concurrency
            )
            async with self.target, answered as finished:
                async for row in finished:
                    add(row)
                    failures = list(row.failures.values())
                    causes = {failure.cause for failure in failures}
                    self.breaker.add(causes, failures[0].message if failures else None)
                    if self.breaker.reason:
                        for other in finished.waiting():
                            add(other)
                        break

        if rows:
            finish_in_thread(collect)

    @property
    def causes(self) -> Mapping[str, int]:
        rows = self.journal.rows.values()
        return Counter(
            cause for row in rows for cause in {f.cause.value for f in row.failures.values()}
        )

    @property
    def reasons(self) -> Mapping[str, str]:
        reasons: dict[str, str] = {}
        for _, row in sorted(self.journal.rows.items()):
            for failure in row.failures.values():
                reasons.setdefault(failure.cause.value, failure.message)
        return reasons

    @property
    def failed(self) -> int:
        return sum(bool(row.failures) for row in self.journal.rows.values())

    def document(self) -> Mapping[str, object]:
        rows = [self.journal.rows[index] for index in sorted(self.journal.rows)]
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
                response_record(row.index, row.sample, row.failures, mode=self.mode) for row in rows
            ],
        }
