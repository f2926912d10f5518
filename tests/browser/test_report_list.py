"""The HTML file from disk, without a network: its overview and its list of samples."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from ragstone.evaluation.runner import evaluate
from ragstone.reports.html.page import write_html

expect = pytest.importorskip("playwright.async_api").expect
Browse = Callable[..., Awaitable]
ROWS = "#rows-table tbody tr"
pytestmark = pytest.mark.asyncio(loop_scope="session")


async def first_ids(page, number: int = 3) -> list[str]:
    names = await page.locator(f"{ROWS} .name").all_inner_texts()
    return [name.strip() for name in names[:number]]


async def test_the_overview_and_the_first_page_of_samples_are_shown(browse: Browse, report) -> None:
    page = await browse(report.as_uri())
    await expect(page.locator("#count")).to_have_text("60 samples")
    await expect(page.locator(ROWS)).to_have_count(50)
    mean = page.locator("table.metrics tr", has_text="faithfulness").locator("strong")
    await expect(mean).to_have_text("0.67")
    await page.locator('#pager [data-step="1"]').click()
    await expect(page.locator(ROWS)).to_have_count(10)
    await expect(page.locator("#page")).to_have_text("51 to 60 of 60")
    await expect(page.locator("#filters")).to_be_visible()
    await page.emulate_media(media="print")
    await expect(page.locator("#filters")).to_be_hidden()
    await expect(page.locator("table.metrics")).to_be_visible()
    assert (await page.pdf()).startswith(b"%PDF")


async def test_samples_are_filtered(browse: Browse, report: Path) -> None:
    page = await browse(report.as_uri())
    for fill, choose, matched in (
        ({"text": "MODEL 1 "}, {}, 1),
        ({"text": "weighs 57 Grams"}, {}, 1),
        ({}, {"state": "failed"}, 1),
        ({}, {"metric": "hit@5", "state": "undefined"}, 1),
        ({"low": "0.9"}, {"metric": "faithfulness"}, 20),
        ({"high": "0.5"}, {"metric": "faithfulness"}, 39),
        ({"value": "odd", "low": "0.9"}, {"tag": "kind", "metric": "faithfulness"}, 10),
    ):
        for name, value in choose.items():
            await page.locator(f'#filters [name="{name}"]').select_option(value)
        for name, value in fill.items():
            await page.locator(f'#filters [name="{name}"]').fill(value)
        await expect(page.locator("#count")).to_have_text(f"{matched} of 60 samples match")
        await expect(page.locator(ROWS)).to_have_count(matched)
        await page.locator('#filters [name="text"]').fill("nowhere")
        await expect(page.locator("#empty")).to_be_visible()
        await page.locator("#clear").click()
        await expect(page.locator("#count")).to_have_text("60 samples")
        await expect(page.locator("#empty")).to_be_hidden()


async def test_a_cell_of_the_outcomes_leads_to_exactly_its_samples(browse: Browse, report) -> None:
    page = await browse(report.as_uri())
    cell = page.locator('table.outcomes a[href="#outcome=wrong&found=found"]')
    number = await cell.inner_text()
    await cell.click()
    await expect(page.locator("#count")).to_have_text(f"{number} of 60 samples match")
    matching = page.locator(ROWS).filter(has_text="not supported, found")
    await expect(matching).to_have_count(int(number))
    await page.locator(f"{ROWS} a").first.click()
    await expect(page.locator("#sample .badge").first).to_have_text("✗ not supported, found")
    await page.go_back()
    await expect(page.locator("#count")).to_have_text(f"{number} of 60 samples match")
    await page.locator('table.slices a[href="#tag=kind&value=odd"]').click()
    await expect(page.locator("#count")).to_have_text("30 of 60 samples match")


async def test_samples_are_sorted_worst_first_then_best_first(browse: Browse, report: Path) -> None:
    page = await browse(report.as_uri())
    head = page.locator('#rows-table th[data-metric="faithfulness"]')
    await expect(head).to_have_attribute("aria-sort", "ascending")
    await expect(page.locator(ROWS)).to_have_count(50)
    assert await first_ids(page) == ["q1", "q2", "q4"]
    await head.locator("button").focus()
    await page.keyboard.press("Enter")
    await expect(head).to_have_attribute("aria-sort", "descending")
    assert await first_ids(page) == ["q0", "q3", "q6"]


async def test_columns_of_many_metrics_are_chosen(browse: Browse, tmp_path: Path) -> None:
    names = [f"{name}@{k}" for name in ("hit", "mrr", "recall") for k in (1, 2, 3)]
    sample = {"query": "Why?", "ranking": ["a"], "relevance": {"a": 1}, "kind": "odd"}
    write_html(evaluate([sample] * 2, metrics=names), tmp_path / "report.html")
    page = await browse((tmp_path / "report.html").as_uri())
    heads = page.locator("#rows-table th[data-metric]:visible")
    await expect(heads).to_have_count(8)
    await page.locator("#columns summary").click()
    await page.get_by_role("checkbox").last.check()
    await expect(heads).to_have_count(9)


def without(report: Path, start: str, *, skip: int, most: int | None = None) -> str:
    """Write a report that lacks what stands `skip` after some text; return its address."""
    text = report.read_text(encoding="utf-8")
    place = text.index(start) + skip
    damaged = report.with_name("damaged.html")
    damaged.write_text(text[:place] + (text[place + most :] if most else ""), encoding="utf-8")
    return damaged.as_uri()


async def test_a_damaged_file_is_told_in_words(browse: Browse, report: Path) -> None:
    start = '<script type="application/gzip"'
    for block, place in (('id="rows"', ""), ('data-rows="0"', "#sample=3")):
        page = await browse(without(report, f"{start} {block}", skip=100, most=20) + place)
        await expect(page.locator("#trouble")).to_contain_text("are damaged or truncated")
        await expect(page.locator("table.metrics")).to_be_visible()
    page = await browse(without(report, start, skip=100))
    await expect(page.locator("#waiting")).to_contain_text("copy it again")
    await expect(page.locator("table.metrics")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 380])
@pytest.mark.parametrize("place", ["", "#sample=1"])
async def test_axe_finds_nothing_serious_and_a_phone_scrolls_no_page_sideways(
    browse: Browse, report: Path, violations, place: str, width: int, scheme: str
) -> None:
    page = await browse(report.as_uri() + place, width=width, scheme=scheme, examined=True)
    await expect(page.locator("#rows-table tbody tr")).to_have_count(50)
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
    if place:
        await page.locator("#transcript summary").click()
        await page.locator('#claims .claim-item[data-claim="1"]').hover()
        await expect(page.locator("mark.evidence.lit")).to_be_visible()
    else:
        await page.locator("details.slices:not([open]) summary").click()
    assert await violations(page) == []
