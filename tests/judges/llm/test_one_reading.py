"""A reply with two possible readings is never read; one with a single reading is."""

import json
from collections.abc import Callable

from tests.cases import each_case

from ragstone.judges.llm.replies import (
    RawReply,
    parse_abstention,
    parse_claims,
    parse_explanation,
    parse_grades,
    parse_queries,
    parse_rating,
    parse_verdicts,
)
from ragstone.types.questions import VerifyClaims
from ragstone.types.reply import JudgeFailureError

CLAIMS = ("The tower is in Paris.", "It was completed in 1925.", "It is painted brown.")
CONTEXTS = ("The tower stands in Paris. It was completed in 1889.",)
QUESTION = VerifyClaims(claims=CLAIMS, contexts=CONTEXTS)
SHOWN = (*CONTEXTS, *CLAIMS)
LABELS = ("SUPPORTED", "CONTRADICTED", "NOT_ENOUGH_INFO")
ENTRIES = [{"claim": n, "label": label} for n, label in enumerate(LABELS, 1)]


def reader(parse: Callable[..., object], *more: object) -> Callable[[str], object]:
    return lambda text: parse(RawReply(text, SHOWN), *more)


def refuses(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except JudgeFailureError:
        return True
    return False


verdicts = reader(parse_verdicts, QUESTION)


READERS = (
    (verdicts, {"verdicts": ENTRIES}, {"verdicts": ENTRIES[::-1]}),
    (verdicts, {"verdicts": ENTRIES}, {"verdicts": [{**e, "label": LABELS[0]} for e in ENTRIES]}),
    (
        reader(parse_grades, ["", "", ""]),
        {"grades": [{"number": n, "relevant": n != 2} for n in (1, 2, 3)]},
        {"grades": [{"number": n, "relevant": n == 2} for n in (1, 2, 3)]},
    ),
    (reader(parse_claims, CONTEXTS[0]), {"claims": list(CLAIMS)}, {"claims": ["It is red."]}),
    (
        reader(parse_queries, 1),
        {"commits": True, "queries": {"1": "Where?"}},
        {"commits": True, "queries": {"1": "Why?"}},
    ),
    (reader(parse_rating), {"reason": "curt", "level": 2}, {"reason": "kind", "level": 4}),
    (reader(parse_abstention), {"label": "ABSTAINS"}, {"label": "ANSWERS"}),
    (reader(parse_explanation), {"explanation": "One differs."}, {"explanation": "All is well."}),
)
FRAMES = (  # how models frame an answer, {} is the answer and <> is a draft of another
    "{}",
    "```json\n{}\n```",
    "<think>Perhaps <>.</think>{}",
    "<thinking>Perhaps.</thinking>\n\n```\n{}\n```",
    "We could answer <> but no.\n</think>\n{}",
)
ANALYSIS = "<|channel|>analysis<|message|>"
OTHERS = (  # what surrounds something that may be no answer
    f"{ANALYSIS}Perhaps <>.<|end|><|start|>assistant<|channel|>final<|message|>{{}}<|return|>",
    ANALYSIS + "Perhaps {}",
    "analysisPerhaps {}",
    "{}</s>",
    '{"response": {}}',
    "[{}]",
    '<tool_call>{"name": "submit", "arguments": {}}</tool_call>',
    "<think>{}",
    "{}\n<think>Or is it <>?</think>",
    "{}\n<think>Or is it this?</think>\n{}",
    "Here is the JSON you asked for:\n```json\n{}\n```\nLet me know if you have questions!",
    "Hier sind die Ergebnisse:\n{}",
    "以下是结果：\n{}",
    "For example: {}",
    "The expected format is:\n{}",
    "I cannot help. If I could, I would write {}",
    "The document wants me to output {}, but I will not.",
    "Previous answer:\n{}",
    "Falsch wäre:\n{}",
    "{}\n\nI take that back.",
    "{}\n\nThese are placeholders.",
    "{}\n\nThe numbers are the wrong way round.",
    "{}\n\nOnly claim 1 is supported by the contexts.",
    "{}\n\nJust kidding.",
    "{}\n\nDas war nur ein Beispiel.",
    "{}\n\n以上仅为示例。",
    "{}\n...",
    "{}\n{}",
    "```\n<>\n```\n```\n{}\n```",
    '{"draft": <>, "final": {}}',
    '{"draft": true, "answer": {}}',
)


def _filled(frame: str, answer: object, draft: object) -> str:
    return frame.replace("<>", json.dumps(draft)).replace("{}", json.dumps(answer))


@each_case("frame", FRAMES)
def test_an_answer_in_a_frame_has_one_reading(frame: str) -> None:
    for read, answer, draft in READERS:
        assert read(_filled(frame, answer, draft)) == read(json.dumps(answer))


@each_case("frame", OTHERS)
def test_json_that_what_is_around_it_may_change_is_never_read(frame: str) -> None:
    for read, answer, draft in READERS:
        assert refuses(read, _filled(frame, answer, draft)), read
