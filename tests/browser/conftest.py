"""A browser without a network, and a run whose every claim and quote is known."""

import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from ragstone.errors import Cause
from ragstone.evaluation.runner import evaluate
from ragstone.judges.base import ScriptedJudge
from ragstone.reports.html.page import write_html
from ragstone.results.run import Run
from ragstone.types.claim import Claim, Evidence, Label, Verdict
from ragstone.types.questions import ExtractClaims, VerifyClaims
from ragstone.types.reply import Failure

try:
    from playwright.async_api import Browser, Page, Request, Route, async_playwright, expect
except ModuleNotFoundError:
    if "CI" in os.environ:  # `left_out` says why
        raise
else:
    expect.set_options(timeout=15_000)

Browse = Callable[..., Awaitable["Page"]]
SAMPLES = 60
UNANSWERED, UNRANKED = 7, 8


def left_out(why: str) -> None:
    """Skip a test for what is missing here; where CI runs, nothing may be."""
    (pytest.fail if "CI" in os.environ else pytest.skip)(why)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def chromium() -> "AsyncIterator[Browser]":
    path = shutil.which("chromium")
    if path is None:
        left_out("there is no chromium on the path: apt-get install chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def browse(chromium: "Browser") -> AsyncIterator[Browse]:
    """Open pages; whatever they complain of, or fetch from elsewhere, fails the test."""
    complaints: list[str] = []
    contexts = []

    async def opened(
        url: str, *, width: int = 1280, scheme: str = "light", examined: bool = False
    ) -> "Page":
        """Open a page; one that is `examined` runs a script of ours beside its own."""
        own = url.split("#")[0] if url.startswith("file:") else "/".join(url.split("/")[:3])

        async def only_own(route: "Route", request: "Request") -> None:
            if request.url.startswith(own):
                await route.continue_()
            else:
                complaints.append(f"{url} asks for {request.url}")
                await route.abort()

        context = await chromium.new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme, bypass_csp=examined
        )
        contexts.append(context)
        context.set_default_timeout(15_000)
        await context.set_offline(url.startswith("file:"))
        await context.route("**/*", only_own)
        page = await context.new_page()
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
        page.on("console", lambda said: complaints.append(f"{said.type}: {said.text}"))
        await page.goto(url)
        return page

    yield opened
    for context in contexts:
        await context.close()
    assert complaints == []


@pytest.fixture(scope="session")
def violations() -> "Callable[[Page], Awaitable[list[str]]]":
    """Return what axe finds on a page that is serious or critical."""
    try:
        from axe_playwright_python.async_playwright import Axe
    except ModuleNotFoundError:
        left_out("axe-playwright-python is not installed")
    axe = Axe()

    async def found(page: "Page") -> list[str]:
        result = (await axe.run(page)).response
        return [
            f"{each['id']}: {node['html']} ({node['failureSummary']})"
            for each in result["violations"]
            if each["impact"] in ("serious", "critical")
            for node in each["nodes"]
        ]

    return found


def sample(number: int, *, right: int) -> dict[str, object]:
    """Return a sample; in every `right`th, both claims are right, in the others one."""
    weight = f"Model {number} weighs {number + number % right} grams."
    contexts = ("a", "It comes in three colours. Every model lasts 20 hours."), ("b", weight)
    return {
        "id": f"q{number}",
        "query": f"How long does model {number} last, and what does it weigh?",
        "response": f"Model {number} lasts 20 hours. It weighs {number} grams.",
        "contexts": [{"id": name, "text": text} for name, text in contexts],
        "reference": "20 hours",
        "relevance": None if number == UNRANKED else {"a" if number % 2 else "c": 1},
        "kind": "odd" if number % 2 else "even",
        "batch": str(number // 5),
    }


def claims_of(question: ExtractClaims) -> tuple[Claim, ...]:
    end = question.response.index(". ") + 1
    spans = (0, end), (end + 1, len(question.response))
    return tuple(Claim(text=question.response[slice(*span)], span=span) for span in spans)


def verdicts_of(question: VerifyClaims) -> tuple[Verdict, ...] | Failure:
    lasting, weight = question.contexts
    if f"Model {UNANSWERED} " in weight:
        return Failure(Cause.TIMEOUT, "no answer within 30 s")
    start = lasting.index("Every")
    quotes = (
        Evidence(context=0, start=start, end=len(lasting), quote=lasting[start:], verified=True),
        Evidence(context=1, start=0, end=len(weight), quote=weight, verified=True),
    )
    is_right = weight.split("weighs ")[1] == question.claims[1].split("weighs ")[1]
    label = Label.SUPPORTED if is_right else Label.CONTRADICTED
    reason = None if is_right else "the weights differ"
    return (
        Verdict(label=Label.SUPPORTED, evidence=quotes[:1], confidence=0.9),
        Verdict(label=label, reason=reason, evidence=quotes[1:]),
    )


def judged_run(*, right: int = 3, **options: object) -> Run:
    """Return a run of 60 samples; one has no faithfulness, another one no hit@5."""
    judge = ScriptedJudge({"extract_claims": claims_of, "verify_claims": verdicts_of})
    given = [sample(number, right=right) for number in range(SAMPLES)]
    return evaluate(given, metrics=("faithfulness", "hit@5"), judge=judge, **options)


@pytest.fixture(scope="session")
def make_run() -> Callable[..., Run]:
    return judged_run


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The HTML file of a run of 60 samples."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_html(judged_run(), path)
    return path
