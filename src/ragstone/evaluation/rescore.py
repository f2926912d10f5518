"""Rescoring: scores a stored run again with other policies or metrics, without any calls."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice, zip_longest

from ragstone._internal.concurrency import in_thread, run_sync
from ragstone._internal.fields import metric_name
from ragstone.errors import QuestionNotSupportedError, UnknownNameError, UsageError
from ragstone.evaluation.preflight import resolve_gates
from ragstone.evaluation.recorder import VERSION, Recorder
from ragstone.evaluation.scoring import BATCH, diagnose, rescore_row, score_retrieval_in_batches
from ragstone.metrics import GROUPS, Metric, get, select
from ragstone.metrics.claim_checks import ClaimMetric
from ragstone.metrics.retrieval import RankingMetric
from ragstone.results.run import Run, new_run_id
from ragstone.store import Store, StoreError, delete
from ragstone.types.config import ORIGIN, Manifest
from ragstone.types.gate import Gate
from ragstone.types.policy import get_policy
from ragstone.types.reply import Reply
from ragstone.types.row import TEST_FAILED, LazyRows, Row
from ragstone.types.sample import SUBSTITUTE_FIELDS, describe_field


class CannotRescoreError(UsageError):
    """Metrics need data that a run does not have; `why` is metric name -> reason."""

    def __init__(self, why: Mapping[str, str], *, place: str) -> None:
        self.why = why
        parts = "; ".join(f"{name}: {reason}" for name, reason in why.items())
        super().__init__(f"{place} cannot be rescored with {parts}")


class TranscriptMissingError(UsageError):
    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"run {run_id} was stored without its transcript; only metrics "
            "without a judge can be rescored"
        )


class RescoredRows(LazyRows):
    """Rows scored again by other metrics, each time they are read."""

    def __init__(self, rows: Sequence[Row], metrics: Sequence[Metric], *, run_id: str) -> None:
        self._rows, self._run_id = rows, run_id
        self._ranking = [metric for metric in metrics if isinstance(metric, RankingMetric)]
        self._asking = [metric for metric in metrics if not isinstance(metric, RankingMetric)]
        self._needs_judge = any(metric.question_kinds for metric in metrics)
        self._order = [*map(str, metrics)]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        left = iter(self._rows)
        while some := list(islice(left, BATCH)):
            yield from self._score(some)

    def at(self, place: int) -> Row:
        return self._score([self._rows[place]])[0]

    def __repr__(self) -> str:
        return f"<{len(self)} rows of run {self._run_id}, scored again>"

    def _score(self, rows: Sequence[Row]) -> list[Row]:
        async def score() -> list[Row]:
            ranked = score_retrieval_in_batches(rows, self._ranking)
            return [await self._judge(row) for row in ranked]

        return run_sync(score)

    async def _judge(self, row: Row) -> Row:
        if self._needs_judge and not _has_transcript(row):
            raise TranscriptMissingError(self._run_id)
        try:
            again = await rescore_row(row, self._asking)
        except QuestionNotSupportedError:
            why: dict[str, str] = {}
            for metric in self._asking:
                try:
                    await rescore_row(row, [metric])
                except QuestionNotSupportedError as error:
                    why[str(metric)] = str(error)
            place = f"run {self._run_id}, sample {row.sample.id},"
            raise CannotRescoreError(why, place=place) from None
        scores = {name: again.scores[name] for name in self._order}
        # a note about the test of a row applies to its old scores
        notes = tuple(note for note in row.notes if not note.startswith(TEST_FAILED))
        blamed = await diagnose(again, self._asking)
        return replace(again, scores=scores, notes=notes, blamed=blamed)


def _has_transcript(row: Row) -> bool:
    outcomes = (exchange.outcome for exchange in row.exchanges)
    return not any(isinstance(each, Reply) and each.value is None for each in outcomes)


def rescore(
    run: Run,
    metrics: Sequence[str | Metric] = (),
    *,
    policies: Sequence[str] = (),
    gates: Sequence[Gate] = (),
    on_row: Callable[[Row, int], None] | None = None,
) -> Run:
    """Score a run again from its stored judge replies; no calls are made.

    Metrics that judge claims are scored with each of the `policies` (default: their own). A metric
    of a group that needs missing data is listed in `not_run`. The run's gates do not apply.
    """
    if run.columns is not None:
        raise UsageError(
            f"run {run.manifest.run_id} has only the scores of a ranking file; "
            "evaluate the file again with `ragstone rank`"
        )
    known = [get_policy(policy).name for policy in policies]
    if metrics:
        selected = _select(run, metrics, known)
    else:
        try:
            own = [get(name) for name in run.metrics]
        except UnknownNameError as error:
            raise UsageError(
                f"run {run.manifest.run_id} has a metric that is not loaded: {error}; load custom "
                "metrics as a plugin, or name the metrics to use"
            ) from error
        selected = list[Metric]()
        for metric in own:
            if known and isinstance(metric, ClaimMetric):
                selected += [replace(metric, policy=policy) for policy in known]
            else:
                selected.append(metric)
    if known and not any(isinstance(metric, ClaimMetric) for metric in selected):
        names = ", ".join(map(str, selected))
        raise UsageError(f"policies apply only to metrics that judge claims, not to: {names}")
    chosen = list({str(metric): metric for metric in selected}.values())
    by_name = [
        each for each in metrics if isinstance(each, Metric) or metric_name(each) not in GROUPS
    ]
    required = set(map(str, _select(run, by_name, policies) if metrics else chosen))
    not_run = {} if metrics else dict(run.manifest.not_run)
    while True:
        try:
            return _rescore(
                run, chosen, policies=policies, gates=gates, not_run=not_run, on_row=on_row
            )
        except CannotRescoreError as error:
            not_run |= error.why
            chosen = [metric for metric in chosen if str(metric) not in not_run]
            if required & error.why.keys() or not chosen:
                raise


def save(run: Run, store: Store, *, transcript: bool = True) -> None:
    manifest = run.manifest
    run_id = manifest.run_id

    async def write_rows() -> None:
        left = iter(run.rows)
        async with store.begin_writing(
            manifest, run.metrics, fingerprint=manifest.fingerprint, transcript=transcript
        ) as writer:
            nonlocal added
            added = True
            while some := await in_thread(lambda: list(islice(left, BATCH))):
                for row in some:
                    await writer.put(row)

    added = False
    try:
        run_sync(write_rows)
        store.finish(
            run_id,
            extras=run.extras,
            stopped=run.stopped,
            partial=run.partial,
            summary=run.to_dict(),
        )
    except BaseException:
        with suppress(StoreError):
            if added:
                delete(store, run_id)
        raise


def _select(run: Run, metrics: Sequence[str | Metric], policies: Sequence[str]) -> Sequence[Metric]:
    names = [each.spelled if isinstance(each, Metric) else each for each in metrics]
    parameters = run.manifest.plan.parameters
    variants = [{**parameters, "policy": policy} for policy in policies] or [parameters]
    columns = [select(names, **variant) for variant in variants]
    return [each for same in zip_longest(*columns) for each in same if each is not None]


def _rescore(
    run: Run,
    metrics: Sequence[Metric],
    *,
    policies: Sequence[str],
    gates: Sequence[Gate],
    not_run: Mapping[str, str],
    on_row: Callable[[Row, int], None] | None,
) -> Run:
    """Score all rows once, to find metrics that cannot be scored."""
    was, now = run.manifest, datetime.now(UTC)
    note = f"rescored from run {was.run_id} without calls; usage and times are those of that run"
    plan = was.plan.model_copy(
        update={
            "metrics": tuple(metric.spelled for metric in metrics),
            "policy": policies[0] if len(policies) == 1 else was.plan.policy,
            "gates": tuple(gates),
        }
    )
    update: dict[str, object] = {
        "run_id": new_run_id(now),
        "version": VERSION,
        "started_at": now,
        "plan": plan.model_copy(update={"gates": resolve_gates(plan, metrics)}),
        "source": was.source.model_copy(update={"notes": (*was.source.notes, note)}),
        "not_run": not_run,
        "identity": {**was.identity, "metrics": ", ".join(map(str, metrics)), ORIGIN: was.run_id},
    }
    if not any(metric.question_kinds for metric in metrics):
        update |= dict.fromkeys(("judge", "judge_note", "judge_test", "judge_key"))
    recorder = Recorder(Manifest.model_validate({**dict(was), **update}), metrics)

    rows = RescoredRows(run.rows, metrics, run_id=was.run_id)
    known = {info.name for info in run.metrics.values()}
    new = [metric for metric in metrics if metric.name not in known]
    unmet = {need for metric in new for need in metric.needs}
    for row in rows:
        recorder.counted.add(row)
        unmet -= {
            need
            for need in unmet
            if row.sample.value_or_substitute(need) is not None
            or not row.failures.keys().isdisjoint((need, SUBSTITUTE_FIELDS.get(need, need)))
        }
        if on_row:
            on_row(row, len(rows))
    if unmet:
        why = {
            str(metric): f"no row has {' or '.join(map(describe_field, needs))}"
            for metric in new
            if (needs := [need for need in metric.needs if need in unmet])
        }
        raise CannotRescoreError(why, place=f"run {was.run_id}")
    return replace(recorder.run(partial=run.partial, stopped=run.stopped), rows=rows)
