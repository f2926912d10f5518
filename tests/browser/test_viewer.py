"""`ragstone view` in a browser: its pages over a store, with the policy that it sends."""

import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

import pytest
from tests.viewing import serve_in_background

from ragstone.results.run import Run
from ragstone.store import Store, tag

expect = pytest.importorskip("playwright.async_api").expect
Browse = Callable[..., Awaitable]
ROWS = "#rows-table tbody tr"
pytestmark = pytest.mark.asyncio(loop_scope="session")


@dataclass(frozen=True)
class Viewed:
    """Where a store's pages are, and its runs: two that ended."""

    url: str
    a: str
    b: str

    @property
    def run(self) -> str:
        return f"{self.url}/runs/{self.a}"

    @property
    def compared(self) -> str:
        return f"{self.url}/compare?a={self.a}&b={self.b}"


@pytest.fixture(scope="module")
def viewed(make_run: Callable[..., Run], tmp_path_factory) -> Iterator[Viewed]:
    place = tmp_path_factory.mktemp("store") / "runs.db"
    with Store.open(place) as store:
        a = make_run(store=store).manifest.run_id
        b = make_run(store=store, right=2).manifest.run_id
        tag(store, a, "before")
    with serve_in_background(place) as url:
        yield Viewed(url, a, b)


async def test_the_list_of_runs_leads_to_a_run(browse: Browse, viewed: Viewed) -> None:
    page = await browse(viewed.url)
    rows = page.locator("[data-run]")
    await expect(rows).to_have_count(2)
    await expect(rows.first.locator("svg.spark")).to_be_visible()
    await expect(rows.first.locator(".sentence")).to_contain_text("of 59 answers make a claim")
    await page.get_by_role("link", name="before").click()
    await expect(page).to_have_url(viewed.run)
    await expect(page.locator("table.metrics tbody tr")).to_have_count(2)
    await page.locator('#filters [name="high"]').fill("0.5")
    await page.locator('#filters [name="metric"]').select_option("faithfulness")
    await expect(page.locator("#count")).to_have_text("39 of 60 samples match")
    await page.goto(viewed.run)
    await page.reload()
    await page.locator('th[data-metric="faithfulness"] button').click()
    await expect(page.locator(f"{ROWS} .name").first).to_have_text("q0")
    await page.locator('tr[data-place="0"] a').click()
    await page.locator('#text-response .claim[data-claim="1"]').focus()
    lit = page.locator('.context[data-context="1"] mark.evidence.lit')
    await expect(lit).to_have_text("Model 0 weighs 0 grams.")
    await page.keyboard.press("j")
    await expect(page.locator('body[data-sample="3"] #sample-title')).to_contain_text("model 3 ")


async def test_two_runs_are_chosen_and_compared(browse: Browse, viewed: Viewed) -> None:
    page = await browse(viewed.url)
    await page.get_by_role("button", name="Compare").click()
    await expect(page.locator("h1")).to_have_text("Comparison of two runs")
    better = page.get_by_role("row", name="now supported q2 contradicted")
    await expect(better).to_contain_text("It weighs 2 grams.")
    for url in (viewed.url, viewed.run, viewed.compared):
        policy = (await page.goto(url)).headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy


async def test_a_compared_row_leads_to_a_sample_of_b(browse: Browse, viewed: Viewed) -> None:
    page = await browse(viewed.compared)
    await expect(page.locator("svg.forest")).to_have_count(3)
    await page.locator("details.fold summary").last.click()
    await page.locator("a[href*='?row=']").first.click()
    await expect(page).to_have_url(re.compile(rf"/runs/{viewed.b}\?row=\d+#sample=\d+$"))
    await expect(page.locator("#sample-title")).to_be_visible()
    await page.go_back()
    await expect(page).to_have_url(viewed.compared)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (380, "dark")])
@pytest.mark.parametrize("name", ["url", "run", "compared"])
async def test_axe_finds_nothing_serious_and_a_phone_scrolls_no_page_sideways(
    browse: Browse, viewed: Viewed, violations, name: str, width: int, scheme: str
) -> None:
    page = await browse(getattr(viewed, name), width=width, scheme=scheme, examined=True)
    await expect(page.locator("h1")).to_be_visible()
    if name == "run":
        await expect(page.locator(ROWS)).to_have_count(50)
    assert await violations(page) == []
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
