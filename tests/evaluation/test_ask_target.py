import re
from pathlib import Path

import pytest
from tests.cases import each_case

from ragstone.errors import Cause, TargetError, UsageError
from ragstone.evaluation.runner import evaluate, evaluate_async
from ragstone.evaluation.scoring import DROPPED, add_answer, ask_target
from ragstone.reports.terminal import next_step
from ragstone.results.run import Run
from ragstone.store import Store
from ragstone.targets.base import Answer, Target
from ragstone.types.reply import Failure
from ragstone.types.row import Row
from ragstone.types.sample import Context, Sample

SEARCH, CHAT, HEALTH = "/api/v1/rag/search", "/api/v1/chat/query", "/api/v1/health"
OLD, NEW = (Context(text="old", id="1"),), (Context(text="new", id="2"),)
BROKEN = Failure(Cause.TIMEOUT, "no reply")
LONG_WAIT = {"Retry-After": "9999"}


class Scripted(Target):
    """Gives one answer, and keeps what it was asked for."""

    def __init__(self, answer: Answer):
        self.name, self.gives = "scripted", frozenset(("response", "contexts"))
        self.answer = answer
        self.asked: list[tuple[str, frozenset[str]]] = []

    async def ask(self, sample: Sample, needed: frozenset[str]) -> Answer:
        self.asked.append((sample.id, needed))
        return self.answer


def rows(*samples: dict[str, object]) -> list[Row]:
    return [
        Row(number, Sample.model_validate({"id": str(number), "query": f"q{number}", **sample}))
        for number, sample in enumerate(samples)
    ]


async def collect(
    given: list[Row], target: Target, wanted: set[str], *, every: bool, concurrency: int = 4
) -> list[Row]:
    async with ask_target(
        given, target, wanted=frozenset(wanted), every=every, concurrency=concurrency
    ) as result:
        return sorted([row async for row in result], key=lambda row: row.index)


async def test_a_row_that_lacks_nothing_is_not_asked_but_where_the_target_was_named() -> None:
    target = Scripted(Answer({"response": "new"}))
    given = rows({"response": "old"}, {}, {"response": ""})
    made = await collect(given, target, {"response"}, every=False)
    assert target.asked == [("1", frozenset({"response"}))]
    assert [row.sample.response for row in made] == ["old", "new", ""]
    assert made[0] is given[0]
    made = await collect(given, target, {"response"}, every=True)
    assert [row.sample.response for row in made] == ["new"] * 3


RANKED, FAILED = {"ranking": OLD}, Answer({}, {"contexts": BROKEN})
FRESH = Answer({"contexts": NEW, "response": ""})


@each_case(
    ("held", "answer", "every", "kept", "failures"),
    [
        ({"response": "old"}, Answer({"contexts": NEW}), False, {"response": None}, ""),
        (RANKED, FRESH, True, {"ranked": NEW}, ""),
        (RANKED, FRESH, False, {"ranked": OLD}, ""),
        (RANKED, FAILED, False, {"ranked": OLD}, "contexts"),
        (RANKED, FAILED, True, {"ranked": None}, "contexts ranking"),
        ({}, Answer({"ranking": NEW}, FAILED.failures), True, {"ranked": NEW}, "contexts"),
    ],
)
def test_an_answer_replaces_what_belongs_to_another_one(
    held: dict[str, object], answer: Answer, every: bool, kept: dict[str, object], failures: str
) -> None:
    made = add_answer(rows(held)[0], answer, every=every)
    assert {name: getattr(made.sample, name) for name in kept} == kept
    assert made.failures == dict.fromkeys(failures.split(), BROKEN)
    dropped = "response" in held and "contexts" in answer.fields  # the response is of others
    assert made.notes == ((DROPPED,) if dropped else ())


def data(count: int) -> list[dict[str, object]]:
    return [
        {"id": f"row {number}", "query": f"What is {number}?", "relevance": ["5"]}
        for number in range(count)
    ]


async def evaluated(url: str, count: int = 6, **options: object) -> Run:
    settings = {"metrics": ["hit@5", "mrr@5", "faithfulness"], "retries": 1, "timeout": 5}
    return await evaluate_async(data(count), target=url, **{**settings, **options})


def health(run: Run) -> dict[str, object]:
    found = run.to_dict()["target_health"]
    assert isinstance(found, dict)
    return found


async def test_one_search_and_one_chat_a_row_however_many_metrics(faulty) -> None:
    run = await evaluated(faulty.url, metrics=["hit@1", "hit@5", "recall@5", "faithfulness"])
    assert len(faulty.called(HEALTH)) == 1
    assert len(faulty.called(SEARCH)) == len(faulty.called(CHAT)) == 6
    assert health(run)["asked"] == {"search": 6, "chat": 6}
    assert health(run)["error_rate"] == 0
    await evaluated(faulty.url, metrics=["hit@5"])
    assert len(faulty.called(CHAT)) == 6, "ranking metrics alone ask for no chat"


async def test_no_more_calls_at_once_than_asked_for(faulty, behave) -> None:
    for path in (SEARCH, CHAT):
        faulty.script(path, behave.good(after=0.02))
    await evaluated(faulty.url, 12, concurrency=3)
    assert faulty.most == 3


async def test_a_server_that_dies_half_way(faulty, behave, quick) -> None:
    async def then_dead(request):
        if len(faulty.called(SEARCH)) > 10:
            request.transport.close()
        return await behave.good()(request)

    faulty.script(SEARCH, then_dead)
    faulty.script(CHAT, then_dead)
    run = await evaluated(faulty.url, 20, concurrency=2)
    assert [row.sample.id for row in run.rows] == [f"row {number}" for number in range(20)]
    for name, summary in run.summary().items():
        assert 9 <= summary.scored <= 10, name
        assert summary.scored + summary.failed == 20
        assert set(summary.causes) == {"unreachable"}
    assert run.summary()["hit@5"].mean == 1.0
    assert 0 < health(run)["error_rate"] < 1


@each_case(
    ("name", "options", "cause", "told"),
    [
        ("reply", {"status": 500}, Cause.UNREACHABLE, "500 Internal Server Error (tried 2 times)"),
        ("reply", {"status": 429, "headers": LONG_WAIT}, Cause.RATE_LIMITED, "wait 9999 s"),
        ("reply", {"body": {"hits": []}}, Cause.MALFORMED, "the reply has no value at 'results[]"),
        ("hang", {}, Cause.TIMEOUT, "no reply within 0.3 s"),
        ("drop", {"within": True}, Cause.TRUNCATED, "was lost during the reply (tried 2 times)"),
    ],
)
async def test_a_search_that_fails_is_no_number(
    faulty, behave, quick, name: str, options: dict[str, object], cause: Cause, told: str
) -> None:
    faulty.script(SEARCH, getattr(behave, name)(**options))
    run = await evaluated(faulty.url, 3, timeout=0.3 if name == "hang" else 5)
    for row in run.rows:
        for metric in ("hit@5", "mrr@5"):
            score = row.scores[metric]
            assert (score.value, score.cause) == (None, cause)
            assert told in str(score.reason)
            assert "\n" not in str(score.reason)
        assert row.scores["faithfulness"].cause is None  # the chat came
    assert run.summary()["hit@5"].mean is None
    assert health(run)["failed"] == {"search": 3}
    assert health(run)["error_rate"] == 0.5


async def test_an_api_with_other_paths_is_not_called_unreachable_without_advice(
    faulty, behave, quick
) -> None:
    faulty.script(SEARCH, behave.reply(status=404))
    faulty.script(CHAT, behave.reply(status=404))
    run = await evaluated(faulty.url, 3)
    advice = "the API has no such path; describe its paths in a target file (--target)"
    assert (next_step(run) or "").endswith(advice)


async def test_a_rejected_key_stops_the_run_and_later_fails_its_row_alone(faulty, behave) -> None:
    faulty.script(CHAT, behave.good(), behave.reply(status=403), behave.good())
    run = await evaluated(faulty.url, 6, concurrency=1)
    states = [row.scores["faithfulness"].state for row in run.rows]
    assert states.count("failed") == 1
    assert len(states) == 6
    faulty.script(CHAT, behave.reply(status=401))
    with pytest.raises(UsageError, match="returned 401 Unauthorized"):
        await evaluated(faulty.url, 50, concurrency=2)


async def test_a_users_target_is_read_at_the_door() -> None:
    target = Scripted(Answer({"contexts": ["only text"], "response": 5}))
    (row,) = await collect(rows({}), target, {"contexts", "response", "ranking"}, every=True)
    assert row.sample.contexts is not None
    assert row.sample.contexts[0].text == "only text"
    assert row.failures["response"].cause is Cause.MALFORMED
    assert "ranking" not in row.failures, "the contexts stand in for it"
    (row,) = await collect(rows({}), Scripted(Answer({})), {"response"}, every=True)
    assert row.failures["response"].message == "the target returned no response"


async def test_a_stored_answer_that_gives_way_is_told() -> None:
    fresh = Answer({"response": "new", "contexts": ("text",)})
    (row,) = await collect(rows({"response": "old"}), Scripted(fresh), {"contexts"}, every=False)
    assert row.sample.response == "new"
    assert any("the stored value of response was replaced" in note for note in row.notes)


class BuggyTarget(Target):
    name, gives = "buggy", frozenset({"response"})

    async def ask(self, sample: Sample, needed: frozenset[str]) -> Answer:
        assert needed == {"response"}
        if sample.query == "odd":
            return None  # type: ignore[return-value]
        return Answer({"response": {"right": "Fine words."}[sample.query]})


def test_a_target_that_raises_fails_its_row_and_the_run_continues() -> None:
    queries = ("right", "wrong", "odd", "right")
    rows = [{"query": query, "contexts": ["Fine words."]} for query in queries]
    run = evaluate(rows, metrics="faithfulness", target=BuggyTarget())
    scores = [row.scores["faithfulness"] for row in run.rows]
    assert [score.value for score in scores] == [1.0, None, None, 1.0]
    assert [score.cause for score in scores[1:3]] == [Cause.TARGET_ERROR] * 2
    assert "the target raised KeyError at test_ask_target.py" in str(scores[1].reason)
    assert "it returned a NoneType, not an Answer" in str(scores[2].reason)


def described(folder: Path, url: str, body: str) -> str:
    file = folder / "rag.yaml"
    call = f"{{url: '{{base}}/ask', body: {body}, reply: {{response: answer, contexts: docs}}}}"
    file.write_text(f"base: {url}\ncalls:\n  chat: {call}\n", encoding="utf-8")
    return str(file)


def test_a_target_without_health_that_is_down_is_an_error_and_stores_nothing(tmp_path) -> None:
    target = described(tmp_path, "http://127.0.0.1:1", "{query: '{query}'}")  # nothing listens
    with pytest.raises(TargetError, match=r"cannot connect to http://127\.0\.0\.1:1\nStart"):
        evaluate(data(3), target=target, metrics="faithfulness", store=tmp_path / "runs.db")
    with Store.open(tmp_path / "runs.db") as store:
        assert store.runs() == []


@each_case(
    ("body", "message"),
    [
        ("{q: hello}", "the call 'chat' is the same for every row; put {query} into its url"),
        ("{q: '{query}', t: '{tags.topik}'}", "no row has this tag; did you mean {tags.topic}?"),
    ],
)
def test_a_call_that_cannot_depend_on_the_row_is_an_error(tmp_path, body, message) -> None:
    target = described(tmp_path, "http://127.0.0.1:1", body)
    rows = [{**row, "topic": "a"} for row in data(3)]
    with pytest.raises(TargetError, match=re.escape(message)):
        evaluate(rows, target=target, metrics="faithfulness")


@each_case(("answered", "kept"), [({"answer": "new", "contexts": ["new"]}, ["new"]), ("new", None)])
def test_contexts_of_another_answer_are_not_kept(answered: object, kept: list[str] | None) -> None:
    row = {"query": "q?", "response": "old", "contexts": ["old"], "reference": "new"}
    run = evaluate([row], metrics="exact_match", target=lambda _query: answered)
    contexts = run.rows[0].sample.contexts
    assert (contexts and [each.text for each in contexts]) == kept
    assert run.rows[0].sample.response == "new"


class SearchTarget(Target):
    """A search that returns ids, or texts too, and a chat that returns texts and a response."""

    name, gives = "search", frozenset({"response", "contexts", "ranking"})

    def __init__(self, *, texts: bool) -> None:
        self.texts, self.asked = texts, list[frozenset[str]]()

    async def ask(self, sample: Sample, needed: frozenset[str]) -> Answer:
        self.asked.append(needed)
        found = [{"id": "1", "text": LASTS}, {"id": "2", "text": "The case is blue."}]
        ids = [{**each, "text": each["text"] * self.texts} for each in found]
        fields = {"ranking": [] if sample.id == "empty" else ids} if "ranking" in needed else {}
        if not needed.isdisjoint({"response", "contexts"}):
            fields |= {"response": LASTS, "contexts": found}
        return Answer(fields)


def test_a_search_that_returns_texts_is_asked_alone() -> None:
    target = SearchTarget(texts=True)
    run = evaluate([QUESTION], metrics="context_precision", target=target)
    assert run.summary()["context_precision"].mean == 1.0
    assert target.asked == [frozenset({"ranking"})]


LASTS = "The battery lasts 20 hours."
QUESTION = {"query": "How long does the battery last?", "reference": LASTS}


@each_case("more", [(), ("faithfulness",)])
@each_case("stored", [{}, {"contexts": ["Nothing of use."], "response": "No idea."}])
def test_context_precision_of_ids_does_not_depend_on_other_metrics(
    more: tuple[str, ...], stored: dict[str, object]
) -> None:
    target = SearchTarget(texts=False)
    data = [{**QUESTION, **stored, "id": name} for name in ("one", "two", "empty")]
    run = evaluate(data, metrics=["context_precision", *more], target=target)
    scores = [row.scores["context_precision"] for row in run.rows]
    assert [score.value for score in scores] == [1.0, 1.0, 0.0]
    assert [score.detail["graded"] for score in scores] == ["contexts", "contexts", "ranking"]
