"""The HTML file from disk, without a network: its overview and its list of samples."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

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
    await expect(page.locator('.card[data-metric="faithfulness"] strong').first).to_have_text(
        "0.6695"
    )
    await expect(page.locator("svg.histogram")).to_have_count(2)
    await expect(page.locator("#waiting")).to_be_hidden()
    await page.locator('#pager [data-step="1"]').click()
    await expect(page.locator(ROWS)).to_have_count(10)
    await expect(page.locator("#page")).to_have_text("51 to 60 of 60")


@pytest.mark.parametrize(
    ("fill", "choose", "matched"),
    [
        ({"text": "MODEL 1 "}, {}, 1),
        ({"text": "q5"}, {}, 11),
        ({"text": "weighs 57 Grams"}, {}, 1),
        ({}, {"state": "failed"}, 1),
        ({}, {"metric": "hit@5", "state": "undefined"}, 1),
        ({"low": "0.9"}, {"metric": "faithfulness"}, 20),
        ({"high": "0.5"}, {"metric": "faithfulness"}, 39),
        ({"value": "odd"}, {"tag": "kind"}, 30),
        ({"value": "odd", "low": "0.9"}, {"tag": "kind", "metric": "faithfulness"}, 10),
    ],
)
async def test_samples_are_filtered(
    browse: Browse, report: Path, fill: dict[str, str], choose: dict[str, str], matched: int
) -> None:
    page = await browse(report.as_uri())
    for name, value in choose.items():
        await page.locator(f'#filters [name="{name}"]').select_option(value)
    for name, value in fill.items():
        await page.locator(f'#filters [name="{name}"]').fill(value)
    await expect(page.locator("#count")).to_have_text(f"{matched} of 60 samples match")
    await expect(page.locator(ROWS)).to_have_count(matched)


async def test_filters_that_nothing_matches_can_be_cleared(browse: Browse, report: Path) -> None:
    page = await browse(report.as_uri())
    await page.locator('#filters [name="text"]').fill("nowhere")
    await expect(page.locator("#empty")).to_be_visible()
    await expect(page.locator("#rows-region")).to_be_hidden()
    await page.locator("#clear").click()
    await expect(page.locator("#count")).to_have_text("60 samples")
    await expect(page.locator("#empty")).to_be_hidden()


async def test_samples_are_sorted_worst_first_then_best_first(browse: Browse, report: Path) -> None:
    page = await browse(report.as_uri())
    head = page.locator('th[data-metric="faithfulness"]')
    await head.locator("button").click()
    await expect(head).to_have_attribute("aria-sort", "ascending")
    assert await first_ids(page) == ["q1", "q2", "q4"]
    await head.locator("button").focus()
    await page.keyboard.press("Enter")
    await expect(head).to_have_attribute("aria-sort", "descending")
    assert await first_ids(page) == ["q0", "q3", "q6"]
    await page.locator('#pager [data-step="1"]').click()
    await expect(page.locator(ROWS).last).to_contain_text("failed")


async def test_a_tag_of_many_values_is_closed_and_one_of_few_is_open(
    browse: Browse, report: Path
) -> None:
    page = await browse(report.as_uri())
    await expect(page.locator("details.slices[open]")).to_contain_text("even")
    many = page.locator("details.slices", has_text="12 values")
    await expect(many.locator("table")).to_be_hidden()
    await many.locator("summary").click()
    await expect(many.locator("tbody tr")).to_have_count(12)
    await expect(many.locator("table")).to_be_visible()


async def test_on_paper_the_overview_stands_without_its_controls(
    browse: Browse, report: Path
) -> None:
    page = await browse(report.as_uri())
    await expect(page.locator("#filters")).to_be_visible()
    await page.emulate_media(media="print")
    await expect(page.locator("#filters")).to_be_hidden()
    await expect(page.locator(".card").first).to_be_visible()
    assert (await page.pdf()).startswith(b"%PDF")


def without(report: Path, start: str, *, skip: int, most: int | None = None) -> str:
    """Write a report that lacks what stands `skip` after some text; return its address."""
    text = report.read_text(encoding="utf-8")
    place = text.index(start) + skip
    damaged = report.with_name("damaged.html")
    damaged.write_text(text[:place] + (text[place + most :] if most else ""), encoding="utf-8")
    return damaged.as_uri()


@pytest.mark.parametrize(("block", "place"), [('id="rows"', ""), ('data-rows="0"', "#sample=3")])
async def test_a_damaged_block_is_told_in_words(
    browse: Browse, report: Path, block: str, place: str
) -> None:
    start = f'<script type="application/gzip" {block}'
    page = await browse(without(report, start, skip=100, most=20) + place)
    await expect(page.locator("#trouble")).to_contain_text("are damaged or truncated")
    await expect(page.locator(".card").first).to_be_visible()


async def test_a_file_that_was_cut_short_is_told_in_words(browse: Browse, report: Path) -> None:
    page = await browse(without(report, '<script type="application/gzip"', skip=100))
    await expect(page.locator("#waiting")).to_contain_text("copy it again")
    await expect(page.locator(".card").first).to_be_visible()
