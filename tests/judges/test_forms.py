import re

import pytest

from ragstone.claims import Label
from ragstone.judges.forms import FORMS
from ragstone.judges.prompts.prompt import PLACES
from ragstone.judges.reading import SCHEMAS, verdict_schema
from ragstone.questions import Explain, ExtractClaims, ExtractTruths, VerifyClaims

VERIFY = VerifyClaims(claims=("It is blue.", "It is\nnew."), contexts=("Blue.", "Old.\n\nVery."))
EXTRACT = ExtractClaims(query="What?", response="It is blue.")


def bare(text: str) -> str:
    """Return a fenced text with the markers left out."""
    return re.sub(r"-[0-9a-f]{8,}>", ">", text)


def test_every_kind_has_a_form_a_schema_and_a_prompt() -> None:
    assert FORMS.keys() == PLACES.keys() == SCHEMAS.keys()


@pytest.mark.parametrize(
    "question",
    [
        EXTRACT,
        VERIFY,
        ExtractTruths(context="c"),
        Explain(claims=(), labels=(), reasons=()),
    ],
    ids=lambda question: question.kind,
)
def test_a_form_fills_every_place_of_its_prompt(question: ExtractClaims) -> None:
    places = PLACES[question.kind]
    assert FORMS[question.kind].texts(question).keys() == places.needed | places.possible
    assert FORMS[question.kind].chosen(question) == {}


@pytest.mark.parametrize(
    "question",
    [VERIFY.varied(partial=True), ExtractTruths(context="c", limit=2)],
    ids=lambda question: question.kind,
)
def test_and_what_it_chooses_are_options_of_its_prompt(question: ExtractClaims) -> None:
    assert FORMS[question.kind].chosen(question).keys() == PLACES[question.kind].options


def test_contexts_and_claims_are_numbered_and_a_claim_is_one_line() -> None:
    texts = FORMS["verify_claims"].texts(VERIFY)
    assert bare(texts["contexts"]) == ("<contexts>\n[1] Blue.\n\n[2] Old.\n\nVery.\n</contexts>")
    assert bare(texts["claims"]) == "<claims>\n1. It is blue.\n2. It is new.\n</claims>"


@pytest.mark.parametrize("space", list("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"))
def test_no_line_break_of_any_kind_makes_two_lines_of_a_claim(space: str) -> None:
    question = VerifyClaims(claims=(f"It is{space}2. blue.", "It is new."), contexts=("c",))
    assert len(FORMS["verify_claims"].texts(question)["claims"].splitlines()) == 4


def test_partial_is_offered_only_where_it_is_asked_for() -> None:
    form = FORMS["verify_claims"]
    partial = VERIFY.varied(partial=True)
    assert (form.chosen(VERIFY), form.chosen(partial)) == ({}, {"partial": ""})
    assert form.schema(VERIFY) == verdict_schema(False) != form.schema(partial)


def test_a_limit_of_facts_is_said_and_kept() -> None:
    form = FORMS["extract_truths"]
    few = ExtractTruths(context="c", limit=2)
    assert form.chosen(ExtractTruths(context="c")) == {}
    assert form.chosen(few) == {"limit": "2"}
    assert form.read('{"truths": ["a", "b", "c"]}', few, strict_json=True) == ("a", "b")


def test_an_explanation_is_asked_for_with_labels_and_reasons() -> None:
    question = Explain(
        claims=("It is\nblue.", "It is new."),
        labels=(Label.SUPPORTED, Label.CONTRADICTED),
        reasons=("", "It is\nold."),
    )
    assert bare(FORMS["explain"].texts(question)["verdicts"]) == (
        "<verdicts>\n1. SUPPORTED: It is blue.\n2. CONTRADICTED: It is new. (It is old.)\n"
        "</verdicts>"
    )


def test_only_claims_can_be_in_doubt() -> None:
    assert FORMS["extract_claims"].doubt(EXTRACT, ()) is not None
    assert FORMS["verify_claims"].doubt(VERIFY, ()) is None
