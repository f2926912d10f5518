import re
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser

import pytest
from tests.cases import each_case

from ragstone.evaluation.runner import evaluate
from ragstone.judges.base import ScriptedJudge
from ragstone.reports.html.page import SCRIPTS, STYLES, read_asset
from ragstone.results.run import Run

Unpacked = Callable[[str], tuple[list[dict], list[dict]]]
PageOf = Callable[[Run], str]
HOSTILE = [
    *("</script><script>alert(1)</script>", "<!--<script>", "]]>", "\u202egnp.exe", "a\x00b"),
    *("half \ud83d a character", "\x1b[31mred", "\"'><img src=x onerror=alert(1)>"),
    "{{ 7 * 7 }}{% raw %}",
]


class Elements(HTMLParser):
    """The start tags of a page with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def test_the_file_holds_all_samples(judged: Run, page_of: PageOf, unpacked: Unpacked) -> None:
    (row,) = judged.rows
    places = [2 * number for number in range(120)]
    run = replace(judged, rows=[replace(row, index=n) for n in places], known_counts=None)
    page = page_of(run)
    listed, samples = unpacked(page)
    assert [each["place"] for each in listed] == [each["place"] for each in samples] == places
    assert len(re.findall(r'data-rows="\d+"', page)) == 3
    assert listed[0]["id"] == "q1"
    assert listed[0]["scores"]["faithfulness"]["value"] == pytest.approx(1 / 3)
    sample = samples[0]
    assert sample["response"] == row.sample.response
    assert sample["contexts"][0]["text"] == row.sample.contexts[0].text
    assert [each["kind"] for each in sample["transcript"]] == ["extract_claims", "verify_claims"]
    page = page_of(replace(judged, rows=(), known_counts=None))
    assert unpacked(page) == ([], [])
    assert "no scores" in page


@each_case("text", HOSTILE)
def test_texts_from_outside_come_back_as_they_were_and_are_never_markup(
    text: str, hostile_run: Callable[[str], Run], page_of: PageOf, unpacked: Unpacked
) -> None:
    page = page_of(hostile_run(text))
    listed, samples = unpacked(page)
    assert {each["id"] for each in listed} == {text}
    assert {each["response"] for each in samples} == {text}
    assert samples[0]["scores"]["faithfulness"]["claims"][0]["reason"] == text
    elements, plain = Elements(page), Elements(page_of(hostile_run("plain")))
    assert [tag for tag, _ in elements.found] == [tag for tag, _ in plain.found]
    for _, attributes in elements.found:
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
    assert not re.search("[\x00\x1b\u202e]", page), "it becomes a visible mark"


def test_the_policy_allows_the_files_own_script_and_style_alone(
    judged: Run, page_of: PageOf
) -> None:
    page = page_of(judged)
    (policy,) = (
        each["content"] or ""
        for each in Elements(page).of("meta")
        if each.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; ")
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert f"{rule} 'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    for tag, attributes in Elements(page).found:
        assert not {"src", "srcset", "action"} & attributes.keys(), tag
        assert tag not in ("link", "iframe", "img", "object", "embed")
    for name in STYLES:
        assert not re.search(r"url\(|@import", read_asset(name))


@each_case("name", SCRIPTS)
def test_scripts_can_stand_in_a_page_and_make_no_markup(name: str) -> None:
    text = read_asset(name)
    assert text.startswith('"use strict";')
    for banned in ("</script", "<!--", "innerHTML", "outerHTML", "insertAdjacentHTML", "eval("):
        assert banned not in text
    assert len(text.splitlines()) <= 400


def test_a_long_response_is_whole(page_of: PageOf, unpacked: Unpacked) -> None:
    long = "x" * 1_000_000
    judge = ScriptedJudge({"extract_claims": (), "verify_claims": ()})
    sample = {"query": long, "response": long, "contexts": [long]}
    page = page_of(evaluate([sample], metrics="faithfulness", judge=judge))
    listed, samples = unpacked(page)
    assert len(listed[0]["query"]) <= 1000
    assert [len(samples[0][name]) for name in ("query", "response")] == [1_000_000] * 2
    assert len(page) < 200_000
