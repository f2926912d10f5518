import json

import pytest
from tests.cases import each_case

from ragstone.judges.llm.parsing.verdicts import parse_verdicts
from ragstone.types.claim import Evidence
from ragstone.types.questions import VerifyClaims

CONTEXTS = ("The battery lasts 20 hours.\nIt is big.", "Its “case” is blue – not red.")


def evidence_of(evidence: object, contexts: tuple[str, ...] = CONTEXTS) -> tuple[Evidence, ...]:
    question = VerifyClaims(claims=("The battery lasts 20 hours.",), contexts=contexts)
    reply = json.dumps({"verdicts": [{"claim": 1, "evidence": evidence, "label": "no"}]})
    return parse_verdicts(reply, question)[0].evidence


def test_a_quote_is_located_in_the_context_it_names() -> None:
    (evidence,) = evidence_of([{"context": 1, "quote": "20 hours"}])
    assert (evidence.context, evidence.verified) == (0, True)
    assert CONTEXTS[0][evidence.start : evidence.end] == evidence.quote == "20 hours"


@each_case("named", [2, 1, 0, -3, 9, "2"])
def test_a_quote_from_another_context_has_its_number_corrected(named: object) -> None:
    (evidence,) = evidence_of([{"context": named, "quote": 'ITS "case" is  blue - not'}])
    assert (evidence.context, evidence.verified) == (1, True)
    assert CONTEXTS[1][evidence.start : evidence.end] == "Its “case” is blue – not"


@pytest.mark.parametrize(("named", "context"), [(1, 0), (2, 1), (7, 0), (None, 0)])
def test_a_quote_that_stands_nowhere_is_not_verified(named: object, context: int) -> None:
    quote = "25 hours"
    assert evidence_of([{"context": named, "quote": quote}]) == (
        Evidence(context=context, quote=quote, verified=False),
    )


@pytest.mark.parametrize("evidence", ["20 hours", ["20 hours"], {"quote": "20 hours"}])
def test_a_quote_needs_no_list_and_no_number(evidence: object) -> None:
    assert evidence_of(evidence) == (
        Evidence(context=0, start=18, end=26, quote="20 hours", verified=True),
    )


@each_case("evidence", [None, "", " ", [], [None, 5, {}, {"quote": " "}], {"quote": 3}])
def test_blank_quotes_are_no_evidence(evidence: object) -> None:
    assert evidence_of(evidence) == ()


def test_without_contexts_there_is_no_evidence() -> None:
    assert evidence_of("20 hours", contexts=()) == ()
