"""The HTML file from disk, without a network: one sample, by mouse and by keyboard."""

from pathlib import Path

import pytest

expect = pytest.importorskip("playwright.async_api").expect
LIT = "mark.evidence.lit"
pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_sample_opens_by_click_and_the_way_back_leads_to_it(browse, report: Path) -> None:
    page = await browse(report.as_uri())
    await page.locator('tr[data-place="1"] td').first.click()
    await expect(page.locator('body[data-sample="1"] #sample-title')).to_contain_text("model 1 ")
    await expect(page.locator("#sample-title")).to_be_focused()
    await page.go_back()
    await expect(page.locator("#sample")).to_be_hidden()
    await expect(page.locator('tr[data-place="1"] a')).to_be_focused()


async def test_a_sample_opens_by_keyboard_and_keys_go_to_its_neighbours(browse, report) -> None:
    page = await browse(report.as_uri())
    await page.locator('tr[data-place="1"] a').focus()
    await page.keyboard.press("Enter")
    await expect(page.locator('body[data-sample="1"] #rank')).to_have_text("1 of 60")
    await page.keyboard.press("j")
    await expect(page.locator('body[data-sample="2"] #rank')).to_have_text("2 of 60")
    await page.keyboard.press("k")
    await expect(page.locator('body[data-sample="1"] #rank')).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.locator("#overview")).to_be_visible()
    await expect(page.locator('tr[data-place="1"] a')).to_be_focused()
    page = await browse(f"{report.as_uri()}#sample=30")
    await expect(page.locator("#rank")).to_have_text("50 of 60")
    await page.keyboard.press("j")
    await expect(page.locator('body[data-sample="33"] #rank')).to_have_text("51 of 60")
    page = await browse(f"{report.as_uri()}#sample=1000")
    await expect(page.locator("#trouble")).to_contain_text("has no sample 1000")
    await expect(page.locator("#overview")).to_be_visible()


async def test_evidence_lights_up_in_its_context_when_its_claim_is_pointed_at(browse, report: Path):
    page = await browse(f"{report.as_uri()}#sample=1")
    await page.locator('#text-response .claim[data-claim="1"]').hover()
    lit = page.locator(f'.context[data-context="1"] {LIT}')
    await expect(lit).to_have_text("Model 1 weighs 2 grams.")
    await page.locator('#claims .claim-item[data-claim="0"]').hover()
    lit = page.locator(f'.context[data-context="0"] {LIT}')
    await expect(lit).to_have_text("Every model lasts 20 hours.")
    await page.locator("#sample-title").focus()
    for number in (0, 1):
        await page.keyboard.press("Tab")
        await expect(page.locator(f'#text-response .claim[data-claim="{number}"]')).to_be_focused()
        await expect(page.locator(f'.context[data-context="{number}"] {LIT}')).to_be_visible()
        await expect(page.locator(LIT)).to_have_count(1)
    await expect(page.locator("#lit")).to_have_text("Claim 2: evidence highlighted in context 2")
    page = await browse(f"{report.as_uri()}#sample=1", width=380)
    await page.locator('#claims button[data-go="1"]').click()
    await expect(page.locator(f'.context[data-context="1"] {LIT}')).to_be_in_viewport()


async def test_a_verdict_has_a_sign_and_a_word_beside_its_colour(browse, report: Path) -> None:
    page = await browse(f"{report.as_uri()}#sample=1")
    await expect(page.locator(".claim-item .badge")).to_have_text(["✓ supported", "✗ contradicted"])
    await expect(page.locator("#text-response .sign")).to_have_text(["✓ 1", "✗ 2 contradicted"])
    claim = page.locator('#text-response .claim[data-claim="1"]')
    await expect(claim).to_have_attribute("aria-label", "Claim 2, contradicted: It weighs 1 grams.")
    await expect(page.locator(".context .badge")).to_have_text(["✓ relevant"])
    await expect(page.locator("#sample")).to_contain_text("the weights differ")
