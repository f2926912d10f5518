"""The HTML file for everybody: what axe finds, and whether a phone has to scroll sideways."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

expect = pytest.importorskip("playwright.async_api").expect
Browse = Callable[..., Awaitable]
pytestmark = pytest.mark.asyncio(loop_scope="session")


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


async def test_the_first_screen_of_a_phone_shows_the_verdict_and_hides_how_they_were_made(
    browse: Browse, report: Path
) -> None:
    page = await browse(report.as_uri(), width=380)
    box = await page.locator("table.outcomes").bounding_box()
    assert box["y"] + box["height"] < 800
    await expect(page.locator("#provenance dl")).to_be_hidden()
    await page.locator("#provenance summary").click()
    await expect(page.locator("#provenance dl")).to_contain_text("Data set")
