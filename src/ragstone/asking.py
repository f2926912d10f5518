"""Asking: a data set is put to a target now, and the answers are kept, to be judged later."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from ragstone.collection import collecting
from ragstone.datasets import Dataset
from ragstone.datasets.responses import MODES, response_record
from ragstone.errors import UsageError
from ragstone.kept_answers import ResponseJournal
from ragstone.messages import public_url
from ragstone.plan import Plan
from ragstone.rows import Row
from ragstone.targets import Target, get_target
from ragstone.targets.base import FIELDS
from ragstone.targets.description import ApiDescription
from ragstone.targets.templates import filled_variables
from ragstone.workers import finish_in_thread

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
        "score_threshold": plan.threshold,
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
        collection = collecting(
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
            "score_threshold": self.plan.threshold,
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
