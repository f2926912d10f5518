"""Replies whose form is right, but which contradict themselves or are cut off."""

import json

import pytest
from tests.cases import each_case

from ragstone.errors import Cause
from ragstone.judges.llm.replies import (
    RawReply,
    parse_claims,
    parse_found,
    parse_grades,
    parse_verdicts,
)
from ragstone.types.questions import FindAnswer, VerifyClaims
from ragstone.types.reply import JudgeFailureError

FERRY = "The ferry runs daily from March to October."
BRIDGE = "The Maren bridge opened in 1931."
PHONE = "Product No. 5 was launched in Graz."
TEXTS = (PHONE, FERRY, BRIDGE)


def malformed(parse, *arguments: object) -> None:
    with pytest.raises(JudgeFailureError) as caught:
        parse(*arguments)
    assert caught.value.failure.cause is Cause.MALFORMED


def reply(key: str, number: str, answer: tuple[str, object], *reasons: str) -> RawReply:
    entries = [{number: n, answer[0]: answer[1], "reason": r} for n, r in enumerate(reasons, 1)]
    return RawReply(json.dumps({key: entries}))


def verdicts(label: str, *reasons: str) -> RawReply:
    return reply("verdicts", "claim", ("label", label), *reasons)


@each_case(
    ("reasons", "read"),
    [
        ([f"'{PHONE}'", f"'{FERRY}'", f"'{BRIDGE}'"], True),
        (["", f"It contradicts “{PHONE}”.", ""], True),  # one may name another entry
        ([f"'{FERRY}'", f"'{PHONE}'", f"'{BRIDGE}'"], False),
        ([f'It has "{FERRY[:30]}"', f"It has “{BRIDGE[:30]}”", "no quote"], False),
        (["", "", f"The context has '{PHONE}' and '{FERRY}'."], True),
    ],
)
def test_reasons_about_other_entries_are_refused(reasons: list[str], read: bool) -> None:
    question = VerifyClaims(claims=TEXTS, contexts=("c",))
    both = [
        (parse_verdicts, verdicts("SUPPORTED", *reasons), question),
        (parse_grades, reply("grades", "number", ("relevant", True), *reasons), TEXTS),
    ]
    for parse, *arguments in both:
        if read:
            assert len(parse(*arguments)) == len(TEXTS)
        else:
            malformed(parse, *arguments)


@each_case(
    ("label", "reason", "read"),
    [
        ("SUPPORTED", "Wait, the label should be CONTRADICTED.", False),
        ("CONTRADICTED", "So the verdict is SUPPORTED.", False),
        ("NOT_ENOUGH_INFO", "The claim is NOT SUPPORTED by any context.", True),
        ("NOT_ENOUGH_INFO", "It is neither SUPPORTED nor CONTRADICTED.", True),
        ("CONTRADICTED", "The context has WINDOWS 7 IS NO LONGER SUPPORTED.", True),
        ("CONTRADICTED", "Its first half is SUPPORTED, its second CONTRADICTED.", True),
        ("SUPPORTED", 'The context has the words "label": "CONTRADICTED".', True),
    ],
)
def test_a_reason_that_names_another_label_is_refused(label: str, reason: str, read: bool) -> None:
    question = VerifyClaims(claims=(BRIDGE,), contexts=("c",))
    if read:
        assert parse_verdicts(verdicts(label, reason), question)[0].label == label
    else:
        malformed(parse_verdicts, verdicts(label, reason), question)


@each_case(
    ("last", "read"),
    [
        (FERRY, True),
        ("Tickets cost 5 euros", True),  # not the words of the response
        ("The ferry runs", False),
        ("The ferry runs daily from Ma", False),
        ("etc.", False),
        ("(and 2 more claims)", False),
        ("More claims follow.", False),
        ("Windows 7 (not supported)", True),
    ],
)
def test_a_list_of_claims_that_is_cut_off_is_refused(last: str, read: bool) -> None:
    raw, response = RawReply(json.dumps({"claims": [BRIDGE, PHONE, last]})), " ".join(TEXTS)
    if read:
        assert parse_claims(raw, response) == (BRIDGE, PHONE, last)
    else:
        malformed(parse_claims, raw, response)


def test_quotes_of_contexts_are_no_quotes_of_claims() -> None:
    question = VerifyClaims(claims=TEXTS, contexts=(f"{PHONE} It is red.",))
    reasons = (f"The context says '{PHONE}'",) * 3
    assert len(parse_verdicts(verdicts("CONTRADICTED", *reasons), question)) == 3


def test_claims_without_full_stops_are_not_cut_off() -> None:
    listed = ["Revenue rose by 5%", "The firm was founded in 1990"]
    raw = RawReply(json.dumps({"claims": listed}))
    assert parse_claims(raw, "Revenue rose by 5%. The firm was founded in 1990 in Graz.") == (
        "Revenue rose by 5%", "The firm was founded in 1990",
    )  # fmt: skip


@each_case(
    ("answer", "quote", "read"),
    [
        ("The contexts do not say.", "", False),
        ("", "", False),
        ("No information is shared with others.", "No information is shared", True),
        ("None", "", True),
    ],
)
def test_an_answer_that_there_is_none_is_no_answer(answer: str, quote: str, read: bool) -> None:
    evidence = [{"context": 1, "quote": quote}] if quote else []
    raw = RawReply(json.dumps({"found": True, "answer": answer, "evidence": evidence}))
    question = FindAnswer(query="When?", contexts=("No information is shared with others.",))
    if read:
        assert parse_found(raw, question).answer == answer
    else:
        malformed(parse_found, raw, question)
