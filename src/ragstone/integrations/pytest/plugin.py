"""The pytest plugin: marks, options, fixtures and assertions that evaluate samples in tests.

Evaluation code is imported at first use: a session without RAG tests imports this file only.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from threading import RLock
from typing import TYPE_CHECKING, Protocol, cast

import pytest

from ragstone.integrations.pytest import SKIPPED

if TYPE_CHECKING:
    from typing import Unpack

    from ragstone.datasets.frames import Model
    from ragstone.evaluation.runner import Options
    from ragstone.integrations.pytest.session import RagSession
    from ragstone.judges.base import Judge
    from ragstone.types.row import Row
    from ragstone.types.sample import Sample

MARKS = {
    "rag(*, metric, fail_under=None, fail_over=None, **options)": "metrics and "
    "thresholds for the samples passed to the fixture evaluate_sample.",
    "rag_dataset(path, sheet=None, header_row=None, columns=None, limit=None, sample=None, "
    "seed=0)": "run the test once per sample of a file, as its argument `sample`; the path is "
    "relative to the test file.",
}
SETTINGS = (  # `--rag-NAME` on the command line, `rag_name` in the ini
    ("judge", str, "Judge: offline, or provider:model. Default: $RAGSTONE_JUDGE."),
    ("base-url", str, "Base URL of the judge's API, if not the provider's default."),
    ("max-cost", float, "Budget in US dollars; once spent, tests that need the judge are skipped."),
    ("max-calls", int, "Maximum judge calls; after that, tests that need the judge are skipped."),
    ("config", str, "Path of a ragstone.yaml with other settings, relative to the rootdir."),
)
NO_SKIP = "Fail instead of skipping tests whose judge is not configured or cannot answer."
NO_QUERY = "(not given)"
_EVALUATED = pytest.StashKey[bool]()
_session_lock = RLock()
_running: "list[RagPlugin]" = []  # the innermost last; pytest can run inside pytest


class EvaluateSample(Protocol):
    """The type of the fixture `evaluate_sample`."""

    def __call__(
        self, sample: "Sample | Model | Mapping[str, object]", /, **options: "Unpack[Options]"
    ) -> "Row": ...


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("ragstone", "RAG evaluation")
    for name, kind, words in SETTINGS:
        group.addoption(f"--rag-{name}", type=kind, default=None, help=words)
        parser.addini(f"rag_{name.replace('-', '_')}", words, default="")
    group.addoption("--rag-no-skip", action="store_true", help=NO_SKIP)
    parser.addini("rag_no_skip", NO_SKIP, type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    for name, kind, _ in SETTINGS:
        field = f"rag_{name.replace('-', '_')}"
        option = config.getoption(field)
        value = config.getini(field) if option is None else option
        if kind is str or value == "":
            continue
        number = -1.0
        with suppress(ValueError):
            number = float(kind(value))
        if not 0 <= number < float("inf"):
            raise pytest.UsageError(
                f"--rag-{name} or {field}: expected a number of at least 0, got {value}"
            )
    for mark, words in MARKS.items():
        config.addinivalue_line("markers", f"{mark}: {words}")
    plugin = RagPlugin(config)
    _running.append(plugin)
    config.pluginmanager.register(plugin, "ragstone-session")


@pytest.fixture(scope="session")
def judge() -> "Judge":
    """The session's judge; the test is skipped if its key is missing.

    Override this fixture in conftest.py to use your own judge.
    """
    return _session().judge()


@pytest.fixture
def evaluate_sample(request: pytest.FixtureRequest) -> EvaluateSample:
    """A function that evaluates a sample and fails the test if it misses a threshold.

    It uses the fixture `judge`, and only if a metric needs a judge.
    """
    node = cast("pytest.Item", request.node)

    def evaluate(
        sample: "Sample | Model | Mapping[str, object]", /, **options: "Unpack[Options]"
    ) -> "Row":
        __tracebackhide__ = True
        node.stash[_EVALUATED] = True
        marks = [*node.iter_markers("rag")][::-1]  # the closest last
        fixture = partial(request.getfixturevalue, "judge")
        return _session().evaluate(sample, options, marks=marks, judge=fixture)

    return evaluate


def assert_sample(
    sample: "Sample | Model | Mapping[str, object]",
    thresholds: Mapping[str, float | str],
    /,
    **options: "Unpack[Options]",
) -> "Row":
    """Fail unless a sample reaches the threshold of each metric: `{"faithfulness": 0.8}`.

    If lower is better for a metric, its threshold is a maximum. `options` are those of
    `ragstone.evaluate`, except settings of the whole session such as `max_calls`. Works in
    coroutine tests too. Returns the row with its scores.

    Raises:
        AssertionError: a threshold was missed, or the score is undefined or imputed by a policy.
        ScoreMissingError: a score failed; the message has the cause.
        UsageError: the options are invalid.
    """
    __tracebackhide__ = True
    return _session().evaluate(sample, options, thresholds=thresholds)


def assert_faithful(
    response: str,
    contexts: Sequence[str],
    *,
    query: str = NO_QUERY,
    threshold: float = 1.0,
    allow_abstention: bool = False,
    **options: "Unpack[Options]",
) -> "Row":
    """Fail unless the contexts support at least the share `threshold` of a response's claims.

    The `query` helps the judge understand short responses. A string counts as one context. With
    `allow_abstention`, a response that declines to answer also passes; a blank one fails.
    Otherwise as `assert_sample`.
    """
    __tracebackhide__ = True
    one = isinstance(cast("object", contexts), str | bytes | Mapping | None)
    sample = {"query": query, "response": response, "contexts": contexts if one else [*contexts]}
    thresholds = {"faithfulness": threshold}
    return _session().evaluate(
        sample, options, thresholds=thresholds, allow_abstention=allow_abstention
    )


def _session() -> "RagSession":
    if not _running:
        raise RuntimeError("no pytest session is running: call this from a test")
    with _session_lock:  # several threads of a test may call first
        return _running[-1].session


class RagPlugin:
    """The hooks of one pytest session; the session itself is made at first use."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._reports: list[str] = []

    @cached_property
    def session(self) -> "RagSession":
        from ragstone.integrations.pytest.session import RagSession

        return RagSession(self._config)

    @property
    def _has_session(self) -> bool:
        return "session" in vars(self)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if mark := metafunc.definition.get_closest_marker("rag_dataset"):
            from ragstone.integrations.pytest.session import samples_of_mark

            folder = metafunc.definition.path.parent
            samples = samples_of_mark(mark, folder, self._config.stash)
            params = [pytest.param(sample, id=sample.id) for sample in samples]
            metafunc.parametrize("sample", params)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        result = yield
        if (mark := item.get_closest_marker("rag")) and not item.stash.get(_EVALUATED, False):
            pytest.fail(
                f"the test is marked rag(metric={mark.kwargs.get('metric')!r}) but evaluated no "
                "sample: call the fixture evaluate_sample",
                pytrace=False,
            )
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if self._has_session and (reports := self.session.take_reports()):
            vars(report)["ragstone"] = reports
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports += vars(report).get("ragstone", ())

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        ours: list[str] = []
        for report in terminalreporter.getreports("skipped"):
            where = getattr(report, "longrepr", None)  # file, line and reason
            parts = cast("Sequence[object]", where) if isinstance(where, tuple | list) else ("",)
            reason = str(parts[-1]).removeprefix("Skipped: ")
            ours += [reason] if reason.startswith(SKIPPED) else []
        if self._reports or ours:
            from ragstone.integrations.pytest.session import summary_lines

            terminalreporter.section("ragstone")
            for line in summary_lines(self._reports, ours):
                terminalreporter.write_line(line)

    def pytest_unconfigure(self) -> None:
        _running.remove(self)
        if self._has_session:
            self.session.close()
