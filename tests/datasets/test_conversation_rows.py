"""Conversations: a row for each turn, with the messages before it."""

import csv
import json
from pathlib import Path

import pytest
from tests.cases import each_case

from ragstone.datasets import load
from ragstone.datasets.dataset import samples_of
from ragstone.datasets.export import WRITERS
from ragstone.errors import InputError
from ragstone.evaluation.runner import evaluate
from ragstone.judges.base import ScriptedJudge
from ragstone.reports.view import grouping_lines
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


def langchain(role: str, content: object, **more: object) -> dict[str, object]:
    return {"type": role, "content": content, **more}


@each_case(
    "row",
    [
        {"messages": CHAT},
        {"conversation": {"messages": CHAT}},
        {"turns": json.dumps(CHAT)},
        {"user_input": CHAT},
        {"query": CHAT},
        {"messages": [{"role": "system", "content": "Be brief."}, *CHAT]},
        {"messages": CHAT, "query": None, "response": ""} | {"response": None},
        {
            "user_input": [
                langchain("human", "Is there a warranty?"),
                langchain("ai", "I will look.", tool_calls=[{"name": "search"}]),
                langchain("tool", "found"),
                langchain("ai", "Yes, 24 months.", contexts=["24 months."]),
                langchain("human", [{"type": "text", "text": "And the battery?"}]),
                langchain("ai", "", tool_calls=[{"name": "search"}], contexts=["6 months."]),
                langchain("ai", "6 months."),
            ]
        },
    ],
)
def test_each_turn_is_a_row_with_the_messages_before_it(row: dict[str, object]) -> None:
    first, second = read({"id": "conv-1", "level": "easy", **row})
    assert (first.id, first.query, first.history) == ("conv-1/1", ASK["content"], None)
    assert (first.response, first.contexts) == (TOLD["content"], (Context(text="24 months."),))
    assert (second.id, second.query, second.history) == ("conv-1/2", MORE["content"], HISTORY)
    assert (second.response, second.contexts) == ("6 months.", (Context(text="6 months."),))
    assert dict(second.tags) == {"level": "easy", "conversation_id": "conv-1"}


def test_conversations_of_all_file_types(tmp_path: Path) -> None:
    rows = [{"qid": "a", "messages": CHAT}, {"qid": "b", "messages": CHAT[:2]}, {"qid": "c"}]
    rows[2] |= {"query": "one turn", "answer": "yes"}
    (tmp_path / "a.json").write_text(json.dumps(rows), encoding="utf-8")
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    with (tmp_path / "a.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["qid", "messages", "query", "answer"])
        writer.writeheader()
        for row in rows:
            value = json.dumps(row["messages"]) if "messages" in row else ""
            writer.writerow({**row, "messages": value})
    for name in ("a.json", "a.jsonl", "a.csv"):
        samples = load(tmp_path / name).samples
        assert [sample.id for sample in samples] == ["a/1", "a/2", "b/1", "c"], name
        assert (samples[3].history, samples[3].response) == (None, "yes")
        assert len(load(tmp_path / name, limit=1).samples) == 1


def test_ids_are_read_as_in_other_rows() -> None:
    rows = [{"id": name, "messages": [ASK, TOLD | {5: "odd"}]} for name in (0, 5.0, " a ", None)]
    assert [sample.id for sample in read(*rows)] == ["0/1", "5/1", "a/1", "4/1"]


def test_a_ragas_file_has_both_kinds(tmp_path: Path) -> None:
    human = [langchain("human", "q"), langchain("ai", "a")]
    rows = [
        {"user_input": human, "reference": "r"},
        {"user_input": "p", "response": "b", "reference": "s"},
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    found = load(path)
    assert "read as ragas samples" in found.source.notes
    given = [(each.id, each.query, each.response, each.reference) for each in found.samples]
    assert given == [("1/1", "q", "a", "r"), ("2", "p", "b", "s")]


def test_an_open_question_has_the_fields_of_the_row() -> None:
    row = {"messages": [ASK, TOLD, MORE], "answer": "6 months.", "contexts": ["c"]}
    first, second = read(row)
    assert (first.id, first.contexts) == ("1/1", (Context(text="24 months."),))
    assert (second.id, second.response, second.contexts) == (
        "1/2",
        "6 months.",
        (Context(text="c"),),
    )
    columns = {"response": "Antwort"}
    assert read({"messages": [ASK], "Antwort": "x"}, columns=columns)[0].response == "x"


@each_case(
    ("row", "message"),
    [
        ({"messages": [ASK, ASK]}, "two user messages in a row; merge them"),
        ({"messages": [{"role": "narrator", "content": "x"}]}, "unknown message role 'narrator'"),
        ({"messages": [{"role": "system", "content": "x"}]}, "has no user message"),
        ({"messages": CHAT, "reference": "r"}, "'reference' is a column, and the conversation has"),
        ({"messages": [ASK, TOLD], "response": "r"}, "write response into the message"),
        ({"messages": [ASK, TOLD], "contexts": ["r"]}, "write contexts into the message"),
        ({"messages": CHAT, "question": "q"}, "the row has a conversation and 'question'; rename"),
        (
            {"messages": CHAT, "turns": CHAT},
            "the row has two conversations, 'messages' and 'turns'; remove one",
        ),
        ({"id": 1e17, "messages": CHAT}, "only 15 digits are stored"),
        ({"id": [1], "messages": CHAT}, "this is a list, not text"),
        ({"query": "q", "history": "before"}, "expected a list of messages, each with role and"),
        ({"query": "q", "history": [MORE]}, "two user messages in a row"),
        (
            {"messages": [ASK, TOLD | {"retrieved_contexts": ["c"]}]},
            "a message has 'contexts' and 'retrieved_contexts', both contexts; remove one",
        ),
        (
            {"messages": [ASK | {"reference": "r"}, TOLD | {"reference": "s"}]},
            "two messages of one turn have reference; write it into one of them",
        ),
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
        ([ASK, found('["c"]'), found([]), found(""), told(None), MORE], "c", None),
        ([found(["c"], "system"), ASK, found(["d"]), told([]), MORE], "cd", None),
        ([ASK, told(["c"]), found(["d"], "system"), MORE, found("e")], "c", "de"),
        ([ASK, told("c"), found(["d"]), told("e"), MORE], "cde", None),
        ([ASK, told("c"), MORE, told("d"), found("e")], "c", "de"),
        ([found([], "system"), ASK, told(None), MORE], "", None),
    ],
)  # fmt: skip
def test_contexts_of_several_messages_belong_to_one_turn(messages, first, second) -> None:
    given = [each.contexts for each in read({"messages": messages})]
    assert given == [
        texts if texts is None else tuple(Context(text=text) for text in texts)
        for texts in (first, second)
    ]


@each_case("blank", [None, "", " "])
def test_a_blank_tag_does_not_separate_the_turns(blank: object) -> None:
    samples = read({"id": "a", "messages": CHAT, "conversation_id": blank})
    assert [each.tags.get("conversation_id") for each in samples] == ["a", "a"]


def test_a_conversation_far_down_in_a_large_file_is_refused(tmp_path: Path) -> None:
    lines = [json.dumps({"id": f"r{n}", "query": "q" * 4200}) for n in range(1001)]
    path = tmp_path / "a.jsonl"
    for last in ({"query": CHAT}, {"messages": CHAT}):
        path.write_text("\n".join([*lines, json.dumps(last)]), encoding="utf-8")
        with pytest.raises(InputError, match="this row to the first 1,000: a file over 4 MiB"):
            load(path)


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
    attributes = {"gen_ai.input.messages": json.dumps(CHAT[:3]), "gen_ai.output.messages": "x"}
    traced = {"context.trace_id": "t", "parent_id": None, "attributes": attributes}
    for record in (run, traced):
        path = tmp_path / "a.jsonl"
        path.write_text(json.dumps(record), encoding="utf-8")
        [sample] = load(path).samples
        assert (sample.query, sample.history) == ("And the battery?", HISTORY)


@pytest.mark.parametrize("suffix", WRITERS)
def test_turns_are_written_and_read_back(tmp_path: Path, suffix: str) -> None:
    samples = read({"id": "a", "messages": CHAT})
    WRITERS[suffix](samples, tmp_path / f"a{suffix}")
    assert [*load(tmp_path / f"a{suffix}").samples] == samples


def test_saved_responses_keep_the_messages(tmp_path: Path) -> None:
    samples = read({"id": "a", "messages": CHAT})
    rows = [
        {
            "query_index": number,
            **sample.model_dump(include={"id", "query", "response", "history", "tags"}),
        }
        | {"retrieved_contexts": [each.text for each in sample.contexts or ()] or None}
        for number, sample in enumerate(samples)
    ]
    saved = {"metadata": {"mode": "chat"}, "responses": rows}
    (tmp_path / "a.json").write_text(json.dumps(saved), encoding="utf-8")
    assert [*load(tmp_path / "a.json").samples] == samples


def test_intervals_are_of_conversations() -> None:
    def message(role: str, text: str) -> dict[str, object]:
        return {"role": role, "content": text, "contexts": [text]}

    turns = [
        [message("user", f"{c} {t}?"), message("assistant", f"It is {c} {t}.")]
        for c in range(20)
        for t in range(3)
    ]
    chats = [{"messages": [*a, *b, *c]} for a, b, c in zip(*[iter(turns)] * 3, strict=True)]
    grouping = evaluate(chats, metrics="faithfulness").counts.grouping
    assert (grouping.rows, grouping.groups, grouping.by) == (60, 20, ("conversation",))
    [line] = grouping_lines(grouping)
    assert line.startswith("60 rows grouped into 20 by shared conversations")
    followed = [{"messages": [*chat["messages"], MORE, TOLD]} for chat in chats]
    assert (
        evaluate(followed, metrics="faithfulness", config={"cluster": "id"}).counts.grouping.groups
        == 80
    )


def test_a_judge_reads_the_messages() -> None:
    judge = ScriptedJudge({"detect_abstention": False})
    evaluate([{"messages": CHAT}], metrics="abstention", judge=judge)
    asked = {each.query for each in judge.asked if isinstance(each, DetectAbstention)}
    assert asked == {sample.query_with_history for sample in read({"messages": CHAT})}
    assert any("assistant: Yes, 24 months." in query for query in asked)


def test_a_target_receives_the_messages() -> None:
    def answer(query: str, messages: list[dict[str, str]]) -> str:
        return f"{query} after {len(messages) - 1}"

    run = evaluate([{"messages": [ASK, TOLD, MORE]}], metrics="abstention", target=answer)
    assert [row.sample.response for row in run.rows] == [
        "Is there a warranty? after 0",
        "And the battery? after 2",
    ]
