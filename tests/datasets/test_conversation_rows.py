"""Conversations: a row for each turn, with the messages before it."""

import json
from pathlib import Path

import pytest
from tests.cases import each_case
from tests.datasets.reading import lines

from ragstone.datasets import load, table
from ragstone.datasets.dataset import samples_of
from ragstone.datasets.export import WRITERS
from ragstone.errors import InputError
from ragstone.evaluation.runner import evaluate
from ragstone.judges.base import ScriptedJudge
from ragstone.reports.view import grouping_lines
from ragstone.results.grouping import Grouping
from ragstone.types.questions import DetectAbstention
from ragstone.types.sample import Context, Message, Sample

ASK = {"role": "user", "content": "Is there a warranty?"}
TOLD = {"role": "assistant", "content": "Yes, 24 months.", "contexts": ["24 months."]}
MORE = {"role": "user", "content": "And the battery?"}
LAST = {"role": "assistant", "content": "6 months.", "retrieval_context": ["6 months."]}
CHAT = [ASK, TOLD, MORE, LAST]
HISTORY = (
    Message(role="user", content="Is there a warranty?"),
    Message(role="assistant", content="Yes, 24 months."),
)


def read(*rows: dict[str, object], columns: dict[str, str] | None = None) -> list[Sample]:
    return [*samples_of(rows, columns=columns).samples]


def langchain(*messages: tuple[str, object], **more: object) -> list[dict[str, object]]:
    made: list[dict[str, object]] = [{"type": role, "content": said} for role, said in messages]
    made[-1] |= more
    return made


CALL = {"tool_calls": [{"name": "search"}]}


@each_case(
    "row",
    [
        {"messages": CHAT},
        {"turns": json.dumps(CHAT)},
        {"user_input": CHAT},
        {"query": CHAT},
        {"messages": [{"role": "system", "content": "Be brief."}, *CHAT]},
        {"messages": CHAT, "query": None, "response": None},
        {
            "user_input": [
                *langchain(("human", "Is there a warranty?"), ("ai", "I will look."), **CALL),
                *langchain(("tool", "found"), ("ai", "Yes, 24 months."), contexts=["24 months."]),
                *langchain(("human", [{"type": "text", "text": "And the battery?"}])),
                *langchain(("ai", ""), **CALL, contexts=["6 months."]),
                *langchain(("ai", "6 months.")),
            ]
        },
    ],
)
def test_each_turn_is_a_row_with_the_messages_before_it(row: dict[str, object]) -> None:
    first, second = read({"id": " conv-1 ", "conversation_id": " ", "level": "easy", **row})
    assert (first.id, first.query, first.history) == ("conv-1/1", ASK["content"], None)
    assert (first.response, first.contexts) == (TOLD["content"], (Context(text="24 months."),))
    assert (second.id, second.query, second.history) == ("conv-1/2", MORE["content"], HISTORY)
    assert (second.response, second.contexts) == ("6 months.", (Context(text="6 months."),))
    assert dict(second.tags) == {"level": "easy", "conversation_id": "conv-1"}


def test_an_open_question_has_the_fields_of_the_row() -> None:
    first, second = read({"messages": [ASK, TOLD, MORE], "answer": "6 months.", "contexts": ["c"]})
    assert (first.id, first.contexts) == ("1/1", (Context(text="24 months."),))
    assert (second.id, second.response) == ("1/2", "6 months.")
    assert second.contexts == (Context(text="c"),)
    columns = {"response": "Antwort"}
    assert read({"messages": [ASK], "Antwort": "x"}, columns=columns)[0].response == "x"


@each_case(
    ("row", "message"),
    [
        ({"messages": [ASK, ASK]}, "two user messages in a row; merge them"),
        ({"messages": [{"role": "narrator", "content": "x"}]}, "unknown message role 'narrator'"),
        ({"messages": CHAT, "reference": "r"}, "'reference' is a column, and the conversation has"),
        ({"messages": CHAT, "turns": CHAT}, "two conversations, 'messages' and 'turns'; remove"),
        ({"query": "q", "history": "before"}, "expected a list of messages, each with role and"),
        ({"messages": [ASK, TOLD | {"retrieved_contexts": ["c"]}]}, "both contexts; remove one"),
        ({"messages": [ASK | {"reference": "r"}, TOLD | {"reference": "s"}]}, "have reference; wr"),
    ],
)
def test_what_is_not_clear_is_refused(row: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(row)
    assert message in str(caught.value)


def told(contexts: object) -> dict[str, object]:
    return TOLD | {"contexts": contexts}


def found(contexts: object, role: str = "tool") -> dict[str, object]:
    return {"role": role, "content": "found", "contexts": contexts}


@each_case(
    ("messages", "first", "second"),
    [
        ([ASK, found(["c"]), found("d"), told(["d", "e"]), MORE], "cde", None),
        ([found(["c"], "system"), ASK, found(["d"]), told([]), MORE], "cd", None),
        ([ASK, told(["c"]), found(["d"], "system"), MORE, found("e")], "c", "de"),
        ([ASK, told("c"), found(["d"]), told("e"), MORE], "cde", None),
        ([found([], "system"), ASK, told(None), MORE], "", None),
    ],
)  # fmt: skip
def test_contexts_of_several_messages_belong_to_one_turn(messages, first, second) -> None:
    given = [each.contexts for each in read({"messages": messages})]
    assert given == [
        texts if texts is None else tuple(Context(text=text) for text in texts)
        for texts in (first, second)
    ]


def test_a_conversation_far_down_in_a_large_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "IN_MEMORY", -1)
    rows = [{"id": f"r{n}", "query": "q"} for n in range(1001)]
    for last in ({"query": CHAT}, {"messages": CHAT}):
        with pytest.raises(InputError, match="this row to the first 1,000: a file over 4 MiB"):
            lines(tmp_path / "a.jsonl", *rows, last)


def test_a_row_may_have_its_history() -> None:
    [sample] = read({"query": "And the battery?", "chat_history": [ASK, TOLD]})
    assert sample.history == HISTORY
    assert sample.query_with_history == (
        "The conversation before the query:\nuser: Is there a warranty?\n"
        "assistant: Yes, 24 months.\n\nThe query:\nAnd the battery?"
    )
    assert [each["role"] for each in sample.messages] == ["user", "assistant", "user"]
    assert read({"query": "q", "history": []})[0].query_with_history == "q"


def test_chats_of_other_tools_have_a_history(tmp_path: Path) -> None:
    run = {"run_type": "chain", "inputs": {"messages": CHAT[:3]}, "outputs": {"answer": "x"}}
    [sample] = lines(tmp_path / "a.jsonl", run).samples
    assert (sample.query, sample.history) == ("And the battery?", HISTORY)


@each_case("suffix", WRITERS)
def test_turns_are_written_and_read_back(tmp_path: Path, suffix: str) -> None:
    samples = read({"id": "a", "messages": CHAT})
    WRITERS[suffix](samples, tmp_path / f"a{suffix}")
    assert [*load(tmp_path / f"a{suffix}").samples] == samples


def test_a_target_and_a_judge_receive_the_messages() -> None:
    def answer(query: str, messages: list[dict[str, str]]) -> str:
        return f"{query} after {len(messages) - 1}"

    judge = ScriptedJudge({"detect_abstention": False})
    chats = [{"messages": [ASK, TOLD, MORE]}]
    run = evaluate(chats, metrics="abstention", target=answer, judge=judge)
    given = [row.sample.response for row in run.rows]
    assert given == ["Is there a warranty? after 0", "And the battery? after 2"]
    asked = {each.query for each in judge.asked if isinstance(each, DetectAbstention)}
    assert asked == {row.sample.query_with_history for row in run.rows}
    assert any("assistant: Yes, 24 months." in query for query in asked)


def test_intervals_are_of_conversations() -> None:
    def groups(*more: dict[str, object], **config: object) -> Grouping:
        def own(number: int) -> list[dict[str, object]]:
            messages: list[dict[str, object]] = [*CHAT, *more]
            return [each | {"content": f"{number} {each['content']}"} for each in messages]

        chats = [{"messages": own(number)} for number in range(4)]
        return evaluate(chats, metrics="faithfulness", config=config).counts.grouping

    grouping = groups()
    assert (grouping.rows, grouping.groups, grouping.by) == (8, 4, ("conversation",))
    line, *_ = grouping_lines(grouping)
    assert line.startswith("8 rows grouped into 4 by shared conversations")
    assert groups(MORE, TOLD, cluster="id").groups == 12
