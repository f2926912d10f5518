"""Texts from outside, in a browser: they run nothing and are shown as text."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.viewing import serve_in_background

from ragstone.evaluation.runner import evaluate
from ragstone.judges.base import ScriptedJudge
from ragstone.reports.html.page import write_html
from ragstone.results.run import Run
from ragstone.store import Store
from ragstone.types.claim import Claim, Evidence, Label, Verdict
from ragstone.types.reply import Reply
from ragstone.types.sample import Context, Sample

expect = pytest.importorskip("playwright.async_api").expect
Browse = Callable[..., Awaitable]
MARK = "\N{REPLACEMENT CHARACTER}"
HOSTILE = {
    "<script>document.title = 'run'</script>": "<script>document.title = 'run'</script>",
    "</script><script>document.title = 'run'</script>": "</script><script>",
    "<!--<script>": "<!--<script>",
    "]]>": "]]>",
    "\"'><img src=x onerror=alert(1)><svg onload=alert(2)>": "\"'><img src=x onerror=alert(1)>",
    "javascript:alert(1)": "javascript:alert(1)",
    "{{ 7 * 7 }}{% raw %}": "{{ 7 * 7 }}{% raw %}",
    "\x1b[31mred": f"{MARK}[31mred",
    "\u202egnp.exe": f"{MARK}gnp.exe",
    "a\x00b": f"a{MARK}b",
    "half \ud83d a character": f"half {MARK} a character",
    "\udc00\ud83d": f"{MARK}{MARK}",
}
"""What comes from outside, and how it begins where it is shown."""
pytestmark = pytest.mark.asyncio(loop_scope="session")


def evaluated(texts: list[str], *, end: str = "", **options: object) -> Run:
    """Return a run of samples that hold such a text wherever they can."""
    evidence = Evidence(context=0, start=0, end=1, quote="x", verified=True)

    def claims(question) -> Reply:
        found = Claim(text=question.response, span=(0, len(question.response)))
        return Reply((found,), raw=question.response)

    def verdicts(question) -> Reply:
        text = question.claims[0]
        found = Verdict(label=Label.CONTRADICTED, reason=text, evidence=(evidence,))
        return Reply((found,), raw=text)

    samples = []
    for place, text in enumerate(texts):
        contexts = {"contexts": (Context(id=text, text=text),), "ranking": (Context(id=text),)}
        judged = {"response": text + end, "reference": text, "relevance": {text: 1, "other": 1}}
        tags = {text[:50]: text[:50], "note": text}
        given = {"id": f"{place} {text}"[:1000], "query": text, "tags": tags}
        samples.append(Sample(**given, **contexts, **judged))
    judge = ScriptedJudge({"extract_claims": claims, "verify_claims": verdicts}, name=texts[0])
    return evaluate(samples, metrics=("faithfulness", "hit@5"), judge=judge, **options)


async def test_texts_from_outside_run_nothing_and_are_shown(browse: Browse, tmp_path: Path) -> None:
    write_html(evaluated(list(HOSTILE)), tmp_path / "report.html")
    page = await browse((tmp_path / "report.html").as_uri())
    await expect(page.locator("#rows-table tbody tr")).to_have_count(len(HOSTILE))
    await expect(page.locator("#provenance .facts")).to_contain_text(
        "<script>document.title = 'run'</script>"
    )
    for place, shown in enumerate(HOSTILE.values()):
        await page.locator(f'tr[data-place="{place}"] a').click()
        await expect(page.locator(f'body[data-sample="{place}"]')).to_have_count(1)
        for part in ("#sample-title", "#text-response", "#text-reference", "#claims", ".context"):
            await expect(page.locator(part).first).to_contain_text(shown)
        await page.locator("#transcript summary").click()
        await expect(page.locator("#transcript pre").first).to_contain_text(shown)
        await page.locator("#close").click()
    await expect(page.locator("img, iframe, svg[onload]")).to_have_count(0)
    await expect(page).not_to_have_title("run")


async def test_hostile_texts_in_the_viewer_are_only_texts(browse, violations, tmp_path) -> None:
    with Store.open(tmp_path / "runs.db") as store:
        a, b = (evaluated(list(HOSTILE), end=end, store=store) for end in ("", " It differs."))
    a, b = a.manifest.run_id, b.manifest.run_id
    with serve_in_background(tmp_path / "runs.db") as url:
        page = await browse(f"{url}/compare?a={a}&b={b}", examined=True)
        await expect(page.locator("svg.forest")).to_have_count(3)
        for row, shown in enumerate(HOSTILE.values()):
            await page.goto(f"{url}/runs/{b}#sample={row}")
            await expect(page.locator("#text-response")).to_contain_text(shown)
            await expect(page.locator("img, iframe, svg[onload], b")).to_have_count(0)
            await expect(page).not_to_have_title("run")
        assert await violations(page) == []
