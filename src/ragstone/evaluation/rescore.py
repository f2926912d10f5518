"""Rescoring: a run scored again by other policies or metrics, from its ledger; nobody is asked."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from itertools import islice, zip_longest
from typing import overload

from ragstone._internal.concurrency import finish_in_thread, in_thread
from ragstone.errors import QuestionNotSupportedError, UnknownNameError, UsageError
from ragstone.evaluation.diagnosis import blamed
from ragstone.evaluation.preflight import gates_of
from ragstone.evaluation.recorder import Recorder
from ragstone.evaluation.scoring import AT_ONCE, ranked, rescored
from ragstone.metrics import GROUPS, ClaimMetric, Metric, RankingMetric, get, select
from ragstone.results.run import Run, new_run_id
from ragstone.store import Store, StoreError, delete
from ragstone.types.config import Manifest
from ragstone.types.gate import Gate
from ragstone.types.policy import get_policy
from ragstone.types.reply import Outcome, Reply
from ragstone.types.row import Row
from ragstone.types.sample import STAND_INS, in_words

# RescoredRows: the rows of a run with other scores, made from their ledgers as they are read.


class CannotRescoreError(UsageError):
    """Metrics need what a run has not; `why` has the reason of each, by name."""

    def __init__(self, why: Mapping[str, str], *, place: str) -> None:
        self.why = why
        parts = "; ".join(f"{name}: {reason}" for name, reason in why.items())
        super().__init__(f"{place} cannot be scored again by {parts}")


class TranscriptMissingError(UsageError):
    """What the judge answered in a run is not in the store, so nothing can be made of it."""

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"run {run_id} was stored without its transcript (--no-transcript): what the judge "
            "answered is not there to be scored again; only metrics that ask nobody can be"
        )


class RescoredRows(Sequence[Row]):
    """Rows scored again, as a run by these metrics would have scored them; nobody is asked.

    They are scored anew each time they are looked at. Looking raises CannotRescoreError where a
    metric needs what was not asked, and TranscriptMissingError where the judge's answers are not
    there.
    """

    def __init__(self, rows: Sequence[Row], metrics: Sequence[Metric], *, run_id: str) -> None:
        self._rows, self._run_id = rows, run_id
        self._ranking = [metric for metric in metrics if isinstance(metric, RankingMetric)]
        self._asking = [metric for metric in metrics if not isinstance(metric, RankingMetric)]
        self._asks = any(metric.question_kinds for metric in metrics)
        self._order = list(map(str, metrics))

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        left = iter(self._rows)
        while some := list(islice(left, AT_ONCE)):
            yield from self._scored(some)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            return self._scored(self._rows[index])
        return self._scored([self._rows[index]])[0]

    def __repr__(self) -> str:
        return f"<{len(self)} rows of run {self._run_id}, scored again>"

    def _scored(self, rows: Sequence[Row]) -> list[Row]:
        """Score some rows, in a loop of their own, so that callers need none."""
        done: list[Row] = []

        async def score() -> None:
            done.extend([await self._judged(row) for row in ranked(rows, self._ranking)])

        finish_in_thread(score)
        return done

    async def _judged(self, row: Row) -> Row:
        if self._asks and any(_is_silent(exchange.outcome) for exchange in row.exchanges):
            raise TranscriptMissingError(self._run_id)
        try:
            again = await rescored(row, self._asking)
        except QuestionNotSupportedError:
            place = f"run {self._run_id}, sample {row.sample.id},"
            raise CannotRescoreError(await self._lacking(row), place=place) from None
        scores = {name: again.scores[name] for name in self._order}
        return replace(again, scores=scores, blamed=await blamed(again, self._asking))

    async def _lacking(self, row: Row) -> dict[str, str]:
        """Return which metrics ask what was not asked about a row, and what that is."""
        why: dict[str, str] = {}
        for metric in self._asking:
            try:
                await rescored(row, [metric])
            except QuestionNotSupportedError as error:
                why[str(metric)] = str(error)
        return why


def _is_silent(outcome: Outcome[object]) -> bool:
    """Tell whether a judge answered and its answer was not kept."""
    return isinstance(outcome, Reply) and outcome.value is None


OnRow = Callable[[Row, int], None]
ORIGIN = "scored again from"
"""What the identity of a run that was scored again calls the run that it rests on."""


def rescore(
    run: Run,
    metrics: Sequence[str | Metric] = (),
    *,
    policies: Sequence[str] = (),
    gates: Sequence[Gate] = (),
    on_row: OnRow | None = None,
) -> Run:
    """Score a run again from what its judge answered then; nobody is asked anything.

    `metrics` are names, groups or Metric objects; none are those of the run. Each that judges
    claims is scored by each of the `policies`; none are the run's own. A group's metric that
    needs what was not asked, or what no row has, is left out, and the new run says so. The run's
    own gates are left out too.

    The new run's rows are scored anew each time they are looked at, a few at once.

    Raises:
        UsageError: a metric that was named needs what was not asked then, the run was stored
            without its transcript, or a name stands for nothing.
    """
    if run.columns is not None:
        raise UsageError(
            f"run {run.manifest.run_id} is of a ranking from a file, of which values are kept and "
            "not what was retrieved; evaluate the file again: ragstone rank"
        )
    chosen = _chosen(run, metrics, policies)
    singly = [name for name in metrics if isinstance(name, Metric) or name not in GROUPS]
    named = set(map(str, _selected(run, singly, policies) if metrics else chosen))
    not_run = {} if metrics else dict(run.manifest.not_run)
    while True:
        manifest = _manifest(run, chosen, policies=policies, gates=gates, not_run=not_run)
        try:
            return _again(run, chosen, manifest=manifest, on_row=on_row)
        except CannotRescoreError as error:
            not_run |= error.why
            chosen = [metric for metric in chosen if str(metric) not in not_run]
            if named & error.why.keys() or not chosen:
                raise


def save(run: Run, store: Store, *, transcript: bool = True) -> None:
    """Store a run as one of its own, whole or not at all.

    Without `transcript` it is entered as one whose judge's answers are not stored.

    Raises:
        StoreError: the store cannot be used.
    """
    manifest = run.manifest
    run_id = manifest.run_id
    store.begin(manifest, run.metrics, fingerprint=manifest.fingerprint, transcript=transcript)
    try:
        finish_in_thread(partial(_write, run.rows, store, run_id))
        store.finish(
            run_id,
            extras=run.extras,
            stopped=run.stopped,
            partial=run.partial,
            summary=run.to_dict(),
        )
    except BaseException:
        with suppress(StoreError):
            delete(store, run_id)
        raise


async def _write(rows: Iterable[Row], store: Store, run_id: str) -> None:
    left = iter(rows)
    async with store.open_writer(run_id) as writer:
        while some := await in_thread(lambda: list(islice(left, AT_ONCE))):
            for row in some:
                await writer.put(row)


def _chosen(run: Run, metrics: Sequence[str | Metric], policies: Sequence[str]) -> Sequence[Metric]:
    """Return the metrics to score by, one under several policies side by side.

    Raises:
        UsageError: a name stands for nothing, or there are policies and nothing to judge by them.
    """
    known = [get_policy(policy).name for policy in policies]
    if metrics:
        found = _selected(run, metrics, known)
    else:
        found = [each for metric in _own(run) for each in _under(metric, known)]
    if known and not any(isinstance(metric, ClaimMetric) for metric in found):
        names = ", ".join(map(str, found))
        raise UsageError(f"a policy is for metrics that judge claims; these judge none: {names}")
    return list({str(metric): metric for metric in found}.values())


def _selected(
    run: Run, metrics: Sequence[str | Metric], policies: Sequence[str]
) -> Sequence[Metric]:
    """Read names as the run's plan would, once for each policy."""
    names = [each.spelled if isinstance(each, Metric) else each for each in metrics]
    parameters = run.manifest.plan.parameters
    fillings = [{**parameters, "policy": policy} for policy in policies] or [parameters]
    columns = [select(names, **filling) for filling in fillings]
    return [each for same in zip_longest(*columns) for each in same if each is not None]


def _own(run: Run) -> Sequence[Metric]:
    """Return the metrics that a run was scored by."""
    try:
        return [get(name) for name in run.metrics]
    except UnknownNameError as error:
        raise UsageError(
            f"run {run.manifest.run_id} was scored by what is not loaded: {error}; load a metric "
            "of your own with --plugin, or name the metrics to score by"
        ) from error


def _under(metric: Metric, policies: Sequence[str]) -> Sequence[Metric]:
    """Return a metric under each policy; one that judges no claims has none."""
    if not policies or not isinstance(metric, ClaimMetric):
        return [metric]
    return [replace(metric, policy=policy) for policy in policies]


def _again(run: Run, metrics: Sequence[Metric], *, manifest: Manifest, on_row: OnRow | None) -> Run:
    """Go through all rows once, so that nothing is written of what cannot be scored to its end.

    Raises:
        CannotRescoreError: some of the metrics need what the run has not.
    """
    rows = RescoredRows(run.rows, metrics, run_id=run.manifest.run_id)
    recording = Recorder(manifest, metrics)
    known = {info.name for info in run.metrics.values()}
    new = [metric for metric in metrics if metric.name not in known]
    unmet = {need for metric in new for need in metric.needs}
    for row in rows:
        recording.count(row)
        unmet -= {need for need in unmet if _meets(row, need)}
        if on_row:
            on_row(row, len(rows))
    if unmet:
        raise CannotRescoreError(_why(new, unmet), place=f"run {run.manifest.run_id}")
    return replace(recording.run(partial=run.partial, stopped=run.stopped), rows=rows)


def _meets(row: Row, need: str) -> bool:
    """Tell whether a row has what is needed, or should have had it from the target."""
    held = row.sample.held(need) is not None
    return held or not row.lacking.keys().isdisjoint((need, STAND_INS.get(need, need)))


def _why(metrics: Sequence[Metric], unmet: Collection[str]) -> Mapping[str, str]:
    lacking = {str(metric): [need for need in metric.needs if need in unmet] for metric in metrics}
    return {
        name: f"no row has {' or '.join(map(in_words, needs))}"
        for name, needs in lacking.items()
        if needs
    }


def _manifest(
    run: Run,
    metrics: Sequence[Metric],
    *,
    policies: Sequence[str],
    gates: Sequence[Gate],
    not_run: Mapping[str, str],
) -> Manifest:
    """Return the manifest of a run of its own, which says whose answers it rests on."""
    was, now = run.manifest, datetime.now(UTC)
    again = f"scored again from run {was.run_id}: nobody was asked; usage and times are that run's"
    identity = {"metrics": ", ".join(map(str, metrics)), ORIGIN: was.run_id}
    asked = {
        "metrics": tuple(metric.spelled for metric in metrics),
        "policy": policies[0] if len(policies) == 1 else was.plan.policy,
        "gates": tuple(gates),
    }
    plan = was.plan.model_copy(update=asked)
    update: dict[str, object] = {
        "run_id": new_run_id(now),
        "version": version("ragstone"),
        "started_at": now,
        "plan": plan.model_copy(update={"gates": gates_of(plan, metrics)}),
        "source": was.source.model_copy(update={"notes": (*was.source.notes, again)}),
        "not_run": not_run,
        "identity": {**was.identity, **identity},
    }
    if not any(metric.question_kinds for metric in metrics):
        update |= {"judge": None, "judge_note": None, "judge_test": None}
    return Manifest.model_validate({**dict(was), **update})
