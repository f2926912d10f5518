"""Cases that cannot fail independently are one test: a loop that reports all that fail."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any

from ragstone._internal.concurrency import run_sync
from ragstone.results.metric_summary import MetricSummaryBuilder
from ragstone.store import Store
from ragstone.types.config import Manifest
from ragstone.types.score import MetricInfo, Score

Test = Callable[..., Any]


def each_case(
    names: str | Sequence[str],
    cases: Iterable[Any],
    ids: Callable[[Any], object] | Sequence[str] | None = None,
) -> Callable[[Test], Test]:
    """Do as pytest.mark.parametrize does, but in one test, whose fixtures all cases share."""
    several = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    del ids  # the report of a case that fails shows its arguments
    rows = [
        case.values if hasattr(case, "marks") else case if len(several) > 1 else (case,)
        for case in cases
    ]

    def decorate(test: Test) -> Test:
        def calls(fixtures: dict[str, object]) -> Iterator[tuple[str, Any]]:
            for number, row in enumerate(rows):
                arguments = dict(zip(several, row, strict=True))
                yield f"case {number}: {str(arguments)[:500]}", arguments | fixtures

        @wraps(test)
        def one(**fixtures: object) -> None:
            failed: list[Exception] = []
            for name, arguments in calls(fixtures):
                try:
                    test(**arguments)
                except Exception as error:  # noqa: BLE001 - all are reported below
                    error.add_note(name)
                    failed.append(error)
            report(failed)

        @wraps(test)
        async def one_async(**fixtures: object) -> None:
            failed: list[Exception] = []
            for name, arguments in calls(fixtures):
                try:
                    await test(**arguments)
                except Exception as error:  # noqa: BLE001 - all are reported below
                    error.add_note(name)
                    failed.append(error)
            report(failed)

        def report(failed: list[Exception]) -> None:
            if failed:
                raise ExceptionGroup(f"{len(failed)} of {len(rows)} cases failed", failed)

        chosen = one_async if inspect.iscoroutinefunction(test) else one
        signature = inspect.signature(test)
        left = [part for name, part in signature.parameters.items() if name not in several]
        chosen.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return chosen

    return decorate


def count_scores(scores: Iterable[Score]) -> MetricSummaryBuilder:
    """Return the counts of scores that have no rows."""
    builder = MetricSummaryBuilder()
    for place, score in enumerate(scores):
        builder.add(score, place=place)
    return builder


def add_run(
    store: Store, manifest: Manifest, metrics: Mapping[str, MetricInfo], **options: Any
) -> None:
    """Add a run without rows, as a process does that is killed then."""

    async def begin() -> None:
        async with store.begin_writing(manifest, metrics, **options):
            pass

    run_sync(begin)
