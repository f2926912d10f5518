"""The pytest plugin: marks, options, fixtures and assertions that evaluate samples in tests.

What evaluates is imported when the first test asks for it: a session that asks for nothing pays
for this file alone.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from threading import RLock
from typing import TYPE_CHECKING, Protocol, cast

import pytest

if TYPE_CHECKING:
    from typing import Unpack

    from ragstone.evaluation.runner import Options
    from ragstone.integrations.pytest.session import RagSession
    from ragstone.judges.base import Judge
    from ragstone.types.row import Row
    from ragstone.types.sample import Sample

MARKS = {
    "rag(*, metric, fail_under=None, fail_over=None, **options)": "what the samples that the "
    "fixture evaluate_sample is given are evaluated by, and the marks that each has to reach.",
    "rag_dataset(path, sheet=None, columns=None, limit=None)": "run the test once for each sample "
    "of a file, as its argument `sample`; a path is taken from the test's own folder.",
}
"""How each mark is written -> what it does."""
SETTINGS = (
    ("judge", str, "Who judges: offline, or provider:model; RAGSTONE_JUDGE says it too."),
    ("base-url", str, "Where the judge's model is served, if not at its provider's usual place."),
    ("max-cost", float, "US dollars that the judge may take; then tests that ask it are skipped."),
    ("max-calls", int, "Calls that the judge may take; then tests that ask it are skipped."),
    ("config", str, "A ragstone.yaml with all other settings; a path is taken from the rootdir."),
)
"""Name, type and help of the options; `--rag-NAME` on the command line, `rag_name` in the ini."""
NO_SKIP = "Fail, not skip, tests whose judge is not set up or does not answer what they ask."
SKIPPED = "ragstone: "
"""How the reasons begin for which tests are skipped here."""
NO_QUERY = "(not given)"
"""What stands for the query of a response of which only the contexts are known."""

_HELD = pytest.StashKey[bool]()
_asking = RLock()
_running: "list[RagPlugin]" = []
"""The plugin of the pytest session under way, last; pytest may run within pytest."""


class EvaluateSample(Protocol):
    """What the fixture `evaluate_sample` is: a function of a sample."""

    def __call__(
        self, sample: "Sample | Mapping[str, object]", **options: "Unpack[Options]"
    ) -> "Row":
        """Evaluate a sample by the test's marks, or as the options of `ragstone.evaluate` say."""
        ...


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--rag-judge` and the others, each in the ini file too."""
    group = parser.getgroup("ragstone", "RAG evaluation")
    for name, kind, words in SETTINGS:
        group.addoption(f"--rag-{name}", type=kind, default=None, help=words)
        parser.addini(f"rag_{name.replace('-', '_')}", words, default="")
    group.addoption("--rag-no-skip", action="store_true", help=NO_SKIP)
    parser.addini("rag_no_skip", NO_SKIP, type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    """Tell pytest of the marks, and stand ready.

    Raises:
        pytest.UsageError: a limit is no number from 0.
    """
    for name, kind, _ in SETTINGS:
        if kind is not str:
            _refuse_below_0(config, name, kind)
    for mark, words in MARKS.items():
        config.addinivalue_line("markers", f"{mark}: {words}")
    plugin = RagPlugin(config)
    _running.append(plugin)
    config.pluginmanager.register(plugin, "ragstone-session")


def _refuse_below_0(config: pytest.Config, name: str, kind: type[str | int | float]) -> None:
    field = f"rag_{name.replace('-', '_')}"
    option = config.getoption(field)
    said = config.getini(field) if option is None else option
    with suppress(ValueError):
        if said == "" or 0 <= float(kind(said)) < float("inf"):
            return
    raise pytest.UsageError(f"--rag-{name}, or {field}: write a number from 0, not {said}")


@pytest.fixture(scope="session")
def judge() -> "Judge":
    """The judge that the options name; the test is skipped where it lacks its key.

    A fixture of this name in a conftest.py puts a judge of one's own in its place.
    """
    return _session().judge()


@pytest.fixture
def evaluate_sample(request: pytest.FixtureRequest) -> EvaluateSample:
    """A function that evaluates a sample, and fails the test where its marks are not reached.

    It asks the judge of the fixture `judge`, and only where a metric asks one.
    """
    node = cast("pytest.Item", request.node)

    def evaluate(sample: "Sample | Mapping[str, object]", **options: "Unpack[Options]") -> "Row":
        __tracebackhide__ = True
        node.stash[_HELD] = True
        marked = _session().marked(_marks(node))
        own = partial(request.getfixturevalue, "judge")
        return _session().held(sample, {**marked, **options}, judge=own)

    return evaluate


def assert_sample(
    sample: "Sample | Mapping[str, object]",
    marks: Mapping[str, float | str],
    **options: "Unpack[Options]",
) -> "Row":
    """Fail unless a sample reaches its mark by each metric: `{"faithfulness": 0.8}`.

    Of a metric where lower is better, the mark is the most that its score may be. `options` are
    those of `ragstone.evaluate`, but for what holds for a whole session, such as `max_calls`.
    Also for tests that are coroutines: the judge works in a thread of its own. Returns the row
    with its scores.

    Raises:
        AssertionError: a mark was not reached, or the score is undefined or made up by a policy.
        ScoreMissingError: the judge did not answer; the message has its cause.
        UsageError: what was asked cannot be done.
    """
    __tracebackhide__ = True
    session = _session()
    return session.held(sample, {**session.sided(marks, options), **options})


def assert_faithful(
    response: str,
    contexts: Sequence[str],
    *,
    query: str = NO_QUERY,
    threshold: float = 1.0,
    **options: "Unpack[Options]",
) -> "Row":
    """Fail unless the contexts support a response: all its claims, or the share `threshold`.

    A judge understands a short response better with the `query` that it answers. A text is one
    context. In all else as `assert_sample`.
    """
    __tracebackhide__ = True
    one = isinstance(cast("object", contexts), str | bytes | Mapping | None)
    sample = {"query": query, "response": response, "contexts": contexts if one else [*contexts]}
    return assert_sample(sample, {"faithfulness": threshold}, **options)


def _session() -> "RagSession":
    if not _running:
        raise RuntimeError("no pytest session is under way: this is for tests that pytest runs")
    with _asking:  # threads of a test may be the first to ask, and at once
        return _running[-1].session


def _marks(node: pytest.Item) -> list[pytest.Mark]:
    """Return the test's own marks, the nearest last."""
    return [*node.iter_markers("rag")][::-1]


def _reason(report: object) -> str:
    """Return why a test was skipped: a report has its file, line and reason."""
    place = getattr(report, "longrepr", None)
    said = cast("Sequence[object]", place) if isinstance(place, tuple | list) else ("",)
    return str(said[-1]).removeprefix("Skipped: ")


class RagPlugin:
    """What one pytest session does with ragstone; nothing, until a test asks."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._told: list[str] = []

    @cached_property
    def session(self) -> "RagSession":
        """The session's judge, and what it is asked; made when it is first wanted."""
        from ragstone.integrations.pytest.session import RagSession

        return RagSession(self._config)

    @property
    def _begun(self) -> bool:
        return "session" in vars(self)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Make a test of each sample of a file."""
        if mark := metafunc.definition.get_closest_marker("rag_dataset"):
            from ragstone.integrations.pytest.markers import samples_of_mark

            folder, stash = metafunc.definition.path.parent, self._config.stash
            found = samples_of_mark(mark, folder, stash)
            params = [pytest.param(sample, id=sample.id) for sample in found]
            metafunc.parametrize("sample", params)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Refuse a test that passes, and held nothing to its marks."""
        result = yield
        if (mark := item.get_closest_marker("rag")) and not item.stash.get(_HELD, False):
            said = f"the test is marked rag(metric={mark.kwargs.get('metric')!r}), and evaluated"
            pytest.fail(f"{said} no sample: call the fixture evaluate_sample", pytrace=False)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self,
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Lay what was evaluated into the report, which also xdist's workers send home."""
        report = yield
        if self._begun and (told := self.session.take()):
            vars(report)["ragstone"] = told
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what a report tells."""
        self._told += vars(report).get("ragstone", ())

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print what the samples came to, if there were any."""
        reports = terminalreporter.getreports("skipped")
        ours = [reason for reason in map(_reason, reports) if reason.startswith(SKIPPED)]
        if self._told or ours:
            from ragstone.integrations.pytest.summary import summary_lines

            terminalreporter.section("ragstone")
            for line in summary_lines(self._told, ours):
                terminalreporter.write_line(line)

    def pytest_unconfigure(self) -> None:
        """Close the judge."""
        _running.remove(self)
        if self._begun:
            self.session.close()
