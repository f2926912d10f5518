"""A reply with two possible readings is never read; one with a single reading is."""

import json
from collections.abc import Callable

import pytest
from tests.cases import each_case

from ragstone.judges.llm.parsing.items import parse_grades
from ragstone.judges.llm.parsing.json import RawReply
from ragstone.judges.llm.parsing.responses import (
    parse_abstention,
    parse_claims,
    parse_explanation,
    parse_queries,
    parse_rating,
)
from ragstone.judges.llm.parsing.verdicts import parse_verdicts
from ragstone.types.questions import VerifyClaims
from ragstone.types.reply import JudgeFailureError

CLAIMS = ("The tower is in Paris.", "It was completed in 1925.", "It is painted brown.")
CONTEXTS = ("The tower stands in Paris. It was completed in 1889.",)
QUESTION = VerifyClaims(claims=CLAIMS, contexts=CONTEXTS)
SHOWN = (*CONTEXTS, *CLAIMS)
LABELS = ("SUPPORTED", "CONTRADICTED", "NOT_ENOUGH_INFO")
ENTRIES = [{"claim": n, "label": label} for n, label in enumerate(LABELS, 1)]
REST = "2. CONTRADICTED\n3. NOT_ENOUGH_INFO"
LIST = f"1. SUPPORTED\n{REST}"

Read = Callable[[str], object]


def verdicts(text: str) -> str:
    """The first letters of the labels."""
    return "".join(v.label[0] for v in parse_verdicts(RawReply(text, SHOWN), QUESTION))


def grades(text: str) -> str:
    reply = RawReply(text, SHOWN)
    return "".join("NY"[grade.relevant] for grade in parse_grades(reply, CLAIMS, of="contexts"))


def claims(text: str) -> object:
    return parse_claims(RawReply(text, SHOWN))


def queries(text: str) -> object:
    return parse_queries(RawReply(text, SHOWN)).queries


def rating(text: str) -> object:
    return parse_rating(RawReply(text, SHOWN)).level


def abstention(text: str) -> object:
    return parse_abstention(RawReply(text, SHOWN))


def explanation(text: str) -> object:
    return parse_explanation(RawReply(text, SHOWN))


def refuses(read: Read, text: str) -> bool:
    try:
        read(text)
    except JudgeFailureError:
        return True
    return False


READERS: tuple[tuple[Read, object, object], ...] = (
    (verdicts, {"verdicts": ENTRIES}, {"verdicts": ENTRIES[::-1]}),
    (verdicts, {"verdicts": ENTRIES}, {"verdicts": [{**e, "label": "yes"} for e in ENTRIES]}),
    (
        grades,
        {"grades": [{"number": n, "relevant": n != 2} for n in (1, 2, 3)]},
        {"grades": [{"number": n, "relevant": n == 2} for n in (1, 2, 3)]},
    ),
    (claims, {"claims": list(CLAIMS)}, {"claims": ["It is red."]}),
    (queries, {"commits": True, "queries": ["Where?"]}, {"commits": True, "queries": ["Why?"]}),
    (rating, {"reason": "curt", "level": 2}, {"reason": "kind", "level": 4}),
    (abstention, {"label": "ABSTAINS"}, {"label": "ANSWERS"}),
    (explanation, {"explanation": "One claim differs."}, {"explanation": "All is well."}),
)
ANALYSIS = "<|channel|>analysis<|message|>"
FRAMES = (  # how models frame an answer, {} is the answer and <> is a draft of another
    f"{ANALYSIS}Perhaps <>.<|end|><|start|>assistant<|channel|>final<|message|>{{}}<|return|>",
    f"{ANALYSIS}<><|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>{{}}",
    "analysisWe could answer <> but no.assistantfinal{}",
    "<|START_THINKING|><><|END_THINKING|><|START_RESPONSE|>{}<|END_RESPONSE|>",
    "<|begin_of_thought|><><|end_of_thought|>{}",
    "assistant\n\n{}<|eot_id|>",
    "{}</s>",
    '{"response": {}}',
    "[{}]",
    '<tool_call>{"name": "submit", "arguments": {}}</tool_call>',
    "Here is the JSON you asked for:\n```json\n{}\n```\nLet me know if you have questions!",
    "I read the texts. One of them does not state it.\n\n{}",
    "Hier sind die Ergebnisse:\n{}",
    "以下是结果：\n{}",
)
OTHERS = (  # what surrounds something that is no answer
    ANALYSIS + "Perhaps {}",
    "analysisPerhaps {}",
    "<|channel|>final<|message|><><|end|><|start|>assistant<|channel|>final<|message|>{}",
    "For example: {}",
    "The expected format is:\n{}",
    "I cannot help. If I could, I would write {}",
    "The document wants me to output {}, but I will not.",
    "Previous answer:\n{}",
    "Falsch wäre:\n{}",
    "{}\n\nI take that back.",
    "{}\n\nThese are placeholders.",
    "{}\n\nThe numbers are the wrong way round.",
    "{}\n\nJust kidding.",
    "{}\n\nDas war nur ein Beispiel.",
    "{}\n\n以上仅为示例。",
    "{}\n...",
    '{"draft": <>, "final": {}}',
)


def _filled(frame: str, answer: object, draft: object) -> str:
    return frame.replace("<>", json.dumps(draft)).replace("{}", json.dumps(answer))


@each_case("frame", FRAMES)
def test_an_answer_in_a_frame_has_one_reading(frame: str) -> None:
    for read, answer, draft in READERS:
        assert read(_filled(frame, answer, draft)) == read(json.dumps(answer))


@each_case("frame", OTHERS)
def test_json_that_the_text_around_it_may_change_is_never_read(frame: str) -> None:
    for read, answer, draft in READERS:
        assert refuses(read, _filled(frame, answer, draft)), read


@each_case(
    "text",
    [
        *(json.dumps({"verdicts": ENTRIES}).replace("]}", "],}"), json.dumps(json.dumps(ENTRIES))),
        *(
            json.dumps(dict(enumerate(LABELS, 1))),
            json.dumps({"verdicts": {f"claim_{n}": x for n, x in enumerate(LABELS, 1)}}),
        ),
        json.dumps([{**entry, "reason": "a\nb"} for entry in ENTRIES]).replace("\\n", "\n"),
        "First: SUPPORTED\nSecond: CONTRADICTED\nThird: NOT_ENOUGH_INFO",
        "Third claim: NOT_ENOUGH_INFO\nFirst claim: SUPPORTED\nSecond claim: CONTRADICTED",
        "Claim two: CONTRADICTED\nClaim one: SUPPORTED\nClaim three: NOT_ENOUGH_INFO",
        *("C2: CONTRADICTED\nC1: SUPPORTED\nC3: NOT_ENOUGH_INFO", LIST.replace(". ", ". Label: ")),
        "\n\n".join(f"Claim {n}\nReason: so.\nLabel: {x}" for n, x in enumerate(LABELS, 1)),
        json.dumps(
            [{**ENTRIES[n], "claim": x} for n, x in ((2, "third"), (0, "one"), (1, "Claim two"))]
        ),
        f"<think>1. CONTRADICTED</think>{LIST}",
        f"<|channel|>final<|message|>{LIST}<|return|>",
        f"{LIST}\n\nClaim 2 is contradicted. The tower stands in Paris.",
    ],
)
def test_verdicts_with_one_reading_are_read(text: str) -> None:
    assert verdicts(text) == "SCN"


@each_case(
    "text",
    [
        *(f"{LIST}\n\n{note}" for note in ("Correction: claim 1 is CONTRADICTED.", "Strike that.")),
        *(f"{LIST}\n{note}" for note in ("Wait, 1 is no.", "(1 means not supported)", "...")),
        *(f"{heading}\n{LIST}" for heading in ("Swap 1 and 2:", "For example:", "Old verdicts:")),
        *(
            f"{heading}\n1. Yes\n2. No\n3. No"
            for heading in ("Is it unsupported?", "Hallucinated?", "Errors found:", "Falsch?")
        ),
        *(
            f"1. {label}\n{REST}"
            for label in (
                *("Supported - it is wrong though", "~~No~~ yes", "Supported: just kidding"),
                *("Supported (weakly)", "Supported, 50 % sure", "Supported. 否", "Supported (0)"),
            )
        ),
        *(
            json.dumps({"verdicts": ENTRIES, key: other})
            for key, other in (
                *(("final_verdicts", ENTRIES[:1]), ("results", ["no", "no", "no"])),
                *(("note", "1 and 2 are swapped."), ("error", "none"), ("final", {"1": "no"})),
            )
        ),
        *(
            json.dumps([{**entry, key: value} for entry in ENTRIES])
            for key, value in (
                ("not", True),
                ("ok", False),
                ("entailment", "no"),
                ("result", "fail"),
                ("remark", "Actually, no."),
            )
        ),
        *(json.dumps([{"expected_label": e["label"], "claim": e["claim"]} for e in ENTRIES]),),
        *(json.dumps([{"rank": 4 - n, "label": x} for n, x in enumerate(LABELS, 1)]),),
        *("For example, Verdict: SUPPORTED", "Earlier verdict: SUPPORTED"),
        "- claim: 3\n  label: SUPPORTED\n- claim: 1\n  label: SUPPORTED\n- claim: 2\n  label: no",
        "The paint\nVerdict: no\nThe city\nVerdict: yes\nThe year\nVerdict: no",
        json.dumps({str(n): {"claim": 4 - n, "label": x} for n, x in enumerate(LABELS, 1)}),
    ],
)
def test_verdicts_with_two_possible_readings_are_never_read(text: str) -> None:
    assert refuses(verdicts, text)


@each_case(
    "text",
    [
        "1. Relevant\n2. Relevant\n3. Relevant\n\nCorrection: 2 is not relevant.",
        '[{"relevant": 1}, {"relevant": 1}, {"relevant": 1}]\n| 1 | Relevance:** 0 |',
        "1. Relevant (same topic only)\n2. Irrelevant\n3. Relevant",
        *(f"{heading}\n1. Yes\n2. No\n3. Yes" for heading in ("Is it irrelevant?", "Off topic:")),
        *(
            json.dumps([{"number": n, **fields} for n in (1, 2, 3)])
            for fields in ({"relevant": True, "irrelevant": True}, {"irrelevant": False})
        ),
    ],
)
def test_grades_with_two_possible_readings_are_never_read(text: str) -> None:
    assert refuses(grades, text)


def test_documents_are_contexts() -> None:
    for number in ("{}", "doc{}", "Document {}"):
        entries = [{"doc": number.format(n), "relevant": n == 3} for n in (3, 1, 2)]
        assert grades(json.dumps(entries)) == "NNY"


@each_case(
    "text",
    [
        *("- None", "1. N/A", "- (no claims)", "1. <claim 1>", '{"claims": ["..."]}'),
        *(f"{heading}\n- {CLAIMS[0]}" for heading in ("Skipped:", "Not claims:", "Draft:")),
        *(f"- {CLAIMS[0]}\n- {CLAIMS[1]}\n{end}" for end in ("...", "\nNote:\n- I split it.")),
        *(f"1. {CLAIMS[0]}\n{rest}" for rest in ("1. It is red.", "  - It is.", "3. It is.")),
        f"1. {CLAIMS[0]}\n\nFinal:\n1. {CLAIMS[1]}",
        "~~- It is red.~~\n- It is old.",
        '{"claims": ["I cannot help with that."]}',
        '{"claims": [{"claim": "It is red.", "valid": false}]}',
        *(json.dumps({"claims": ["a"], key: ["b"]}) for key in ("final_claims", "statements")),
    ],
)
def test_claims_with_two_possible_readings_are_never_read(text: str) -> None:
    assert refuses(claims, text)


@each_case(
    "form", ["1. {}\n2. {}", "Claim 1: {}\nClaim 2: {}", "**1.** {}\n**2.** {}", '- "{}"\n- **{}**']
)
def test_a_list_of_claims_has_one_reading(form: str) -> None:
    assert claims(f"Claims:\n\n{form.format(*CLAIMS)}\n\nI hope this helps.") == CLAIMS[:2]


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (rating, "Level: 4\n\nOn reflection: 2"),
        (rating, "Level: 4\n\nNever mind."),
        (rating, "My first guess:\nLevel: 4"),
        (abstention, "ABSTAINS\n\nThe opposite is true."),
        (explanation, "{'explanation': 'All is well.'}"),
        (explanation, "null"),
        (explanation, "Lo siento, no puedo ayudar con eso."),
        (explanation, '{"explanation": "All is well.", "final_explanation": "Nothing is."}'),
        (queries, '{"commits": true, "queries": ["<query 1>"]}'),
        (queries, '{"commits": true, "queries": ["Why?"], "final_queries": ["Who?"]}'),
    ],
)
def test_other_replies_with_two_possible_readings_are_never_read(read: Read, text: str) -> None:
    assert refuses(read, text)
