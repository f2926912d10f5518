from pathlib import Path
from time import perf_counter

import pytest
from tests.cases import each_case

import ragstone
from ragstone._internal.rate_limit import Budget, Limits, RetryingCaller
from ragstone.errors import Cause, InputError, UnknownNameError, UsageError
from ragstone.judges.base import RouterJudge
from ragstone.judges.batching import SplitJudge
from ragstone.judges.cache import CachedJudge
from ragstone.judges.factory import LEAST, MOST, DryRunJudge, make_judge
from ragstone.judges.llm.judge import LlmJudge
from ragstone.judges.llm.model import Price
from ragstone.judges.llm.openai import PROVIDERS, OpenAICompatibleModel
from ragstone.judges.offline import OfflineJudge
from ragstone.judges.panel import PanelJudge
from ragstone.types.config import Plan
from ragstone.types.questions import TextSimilarity

KIND = "verify_claims"


@pytest.fixture(autouse=True)
def _empty_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "k")


def layers(plan: Plan, **options: object) -> list[type]:
    """Return the classes of the judge and of those within it, where no texts are compared."""
    judge, found = make_judge(plan, asked=[[KIND]], **options), []
    while judge is not None:
        found.append(type(judge))
        judge = getattr(judge, "judge", None)
    return found


def test_without_a_word_the_judge_is_offline() -> None:
    assert layers(Plan()) == [OfflineJudge]


def test_what_stands_around_a_model() -> None:
    plan = Plan(judge="openai:m")
    assert layers(plan) == [SplitJudge, CachedJudge, LlmJudge]
    assert layers(plan.model_copy(update={"cache": False})) == [SplitJudge, LlmJudge]
    assert layers(plan, guess=LEAST) == [SplitJudge, DryRunJudge, LlmJudge]


def test_making_a_judge_writes_nothing(tmp_path: Path) -> None:
    make_judge(Plan(judge="openai:m"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("judge", "name"),
    [
        ("offline,openai:a", "offline,3*openai:a"),
        ("openai:a, openai:b", "3*openai:a,3*openai:b"),
    ],
)
def test_what_says_the_same_each_time_has_one_vote(judge: str, name: str) -> None:
    assert make_judge(Plan(judge=judge, votes=3), asked=[[KIND]], guess=LEAST).name == name


@pytest.mark.parametrize("judge", ["openai:a,threshold=0.7", "offline,openai:a,threshold=0.7"])
def test_options_of_what_takes_none_are_refused(judge: str) -> None:
    with pytest.raises(UsageError, match="options such as threshold= are for local judges"):
        make_judge(Plan(judge=judge), guess=LEAST)


def test_the_offline_judge_has_options() -> None:
    judge = make_judge(Plan(judge="offline,threshold=0.6"), asked=[[KIND]])
    assert judge.name == "offline,threshold=0.6"
    with pytest.raises(UsageError, match="the offline judge's threshold"):
        make_judge(Plan(judge="offline,threshold=2"))
    with pytest.raises(UnknownNameError, match=r"option of the offline judge.*threshold"):
        make_judge(Plan(judge="offline,treshold=0.6"))


def test_an_option_said_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="threshold= is set twice"):
        make_judge(Plan(judge="local:m,threshold=0.5,threshold=0.9"), guess=LEAST)


@pytest.mark.parametrize(
    ("judge", "votes", "members"),
    [("openai:a,openai:b", 1, 2), ("openai:a", 3, 3), ("openai:a, offline ,vllm:b", 1, 3)],
)
def test_several_names_or_votes_are_a_panel(judge: str, votes: int, members: int) -> None:
    panel = make_judge(Plan(judge=judge, votes=votes), asked=[[KIND]])
    assert isinstance(panel, PanelJudge)
    assert len(panel.judges) == members


def test_the_votes_of_one_model_are_kept_apart() -> None:
    panel = make_judge(Plan(judge="openai:a", votes=3), asked=[[KIND]])
    assert isinstance(panel, PanelJudge)
    assert len({judge.identity(KIND) for judge in panel.judges}) == 3


def places(judge: str, votes: int) -> list[str | None]:
    panel = make_judge(Plan(judge=judge, votes=votes), asked=[[KIND]])
    assert isinstance(panel, PanelJudge)
    return [judge.identity(KIND) for judge in panel.judges]


def test_the_votes_of_a_name_are_told_apart_however_often_it_is_named() -> None:
    """So a vote is asked anew, and found again in the cache by its number."""
    thrice = places("openai:a", 3)
    assert places("openai:a,openai:a,openai:a", 1) == thrice
    assert len(set(places("openai:a,openai:a", 2))) == 4
    mixed = places("openai:a,openai:b,openai:a", 1)
    assert [mixed[0], mixed[2]] == thrice[:2]
    assert mixed[1] == make_judge(Plan(judge="openai:b")).identity(KIND)


def test_a_model_named_twice_is_asked_twice(judge_server, kit) -> None:
    for _ in range(2):
        ragstone.evaluate(
            kit.samples(3),
            metrics="faithfulness",
            judge="openai:a,openai:a",
            base_url=judge_server.url,
        )
    assert judge_server.asked_of("extract") == dict.fromkeys(range(3), 1)
    assert judge_server.asked_of("verify") == dict.fromkeys(range(3), 2)


@each_case(
    ("name", "like"),
    [
        ("openai", "openai:gpt-4o-mini"),
        ("openai:", "openai:gpt-4o-mini"),
        (":m", "openai:gpt-4o-mini"),
        ("", "openai:gpt-4o-mini"),
        ("gpt-4o", "openai:gpt-4o"),
        ("gpt-4o:", "openai:gpt-4o"),
        ("openai:a,", "openai:gpt-4o-mini"),
    ],
)
def test_a_name_that_stands_for_nothing(name: str, like: str) -> None:
    with pytest.raises(UsageError) as raised:
        make_judge(Plan(judge=name))
    said = str(raised.value)
    assert said.startswith(f"there is no judge named {name.rpartition(',')[2]!r}; name an LLM as ")
    assert f"such as {like}, or use offline" in said


def test_the_nearest_name_is_offered() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'offline'"):
        make_judge(Plan(judge="ofline"))
    with pytest.raises(UnknownNameError, match="did you mean 'openai'"):
        make_judge(Plan(judge="opanai:gpt-4o"))
    with pytest.raises(UnknownNameError, match="did you mean 'local'"):
        make_judge(Plan(judge="locl:models/nli"))


def test_a_missing_key_names_its_variable_and_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(UsageError) as caught:
        make_judge(Plan(judge="openai:gpt-4o-mini"))
    said = str(caught.value)
    assert all(word in said for word in ("openai:gpt-4o-mini", "OPENAI_API_KEY", "judge offline"))
    make_judge(Plan(judge="openai:gpt-4o-mini"), guess=LEAST)  # a dry run asks nobody
    make_judge(Plan(judge="openai:gpt-4o-mini", base_url="http://localhost:1/v1"))


def test_the_place_from_the_environment_is_used(
    judge_server, kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("OPENAI_BASE_URL", judge_server.url)
    run = ragstone.evaluate(kit.samples(3), metrics="faithfulness", judge="openai:mock")
    scores = [row.scores["faithfulness"].value for row in run.rows]
    assert scores == pytest.approx([kit.right_score(row) for row in range(3)])
    assert len(judge_server.asked) == 6
    assert {asked.path for asked in judge_server.asked} == {"/v1/chat/completions"}


def test_a_cost_that_cannot_be_kept_is_told() -> None:
    with pytest.raises(UsageError, match=r"the price of openai:nobody.* is unknown.*max_calls"):
        make_judge(Plan(judge="openai:nobody", max_cost=1))
    make_judge(Plan(judge="openai:gpt-4o-mini", max_cost=1))


def test_what_is_served_elsewhere_has_not_its_makers_price(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = Plan(judge="openai:gpt-4o-mini", max_cost=1)
    make_judge(plan)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:1/v1")
    with pytest.raises(UsageError, match="is unknown, so max_cost"):
        make_judge(plan)


def test_prompts_of_ones_own_change_the_identity_of_their_kind_alone() -> None:
    Path("own.md").write_text("# system\nCheck.\n# user\n{contexts} {claims}\n", encoding="utf-8")
    plain = make_judge(Plan(judge="openai:m"))
    own = make_judge(Plan(judge="openai:m", prompts={KIND: "own.md"}))
    assert own.identity(KIND) != plain.identity(KIND)
    assert own.identity("extract_claims") == plain.identity("extract_claims")


def comparing(plan: Plan, **options: object) -> str:
    """Return who compares texts, as a report says it."""
    judge = make_judge(plan, **options)
    assert judge.takes("text_similarity")
    return judge.description.partition("; text_similarity by ")[2]


NGRAMS = "offline (hashed character n-grams, not meaning)"


@each_case(
    ("plan", "who"),
    [
        ({"judge": "openai:m"}, "openai:text-embedding-3-small (cosines of"),
        ({"judge": "openai:a,vllm:b"}, "openai:text-embedding-3-small (cosines of"),
        ({"judge": "openai:m", "base_url": "http://localhost:1/v1"}, NGRAMS),
        ({"judge": "vllm:m"}, NGRAMS),
        ({"judge": "offline"}, NGRAMS),
        ({"judge": "vllm:m", "embedding_model": "e"}, "openai:e (cosines of embeddings at"),
        ({"judge": "vllm:m", "embedding_model": "ollama:e:latest"}, "ollama:e:latest (cosines of"),
        ({"embedding_model": "openai:e"}, "openai:e (cosines of embeddings at"),
    ],
)
def test_who_compares_texts(plan: dict[str, str], who: str) -> None:
    assert comparing(Plan(**plan)).startswith(who)


def test_an_openai_judge_elsewhere_has_no_embeddings_of_openais(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:1/v1")
    assert comparing(Plan(judge="openai:m")) == NGRAMS


@pytest.mark.parametrize(
    ("judge", "embedding_model", "place"),
    [
        ("vllm:m", "vllm:e", "http://localhost:1/v1"),
        ("vllm:m", "openai:e", "https://api.openai.com/v1"),
        ("offline", "openai:e", "http://localhost:1/v1"),
    ],
)
def test_a_base_url_is_the_place_of_the_judges_provider(
    judge: str, embedding_model: str, place: str
) -> None:
    plan = Plan(judge=judge, embedding_model=embedding_model, base_url="http://localhost:1/v1")
    assert comparing(plan) == f"{embedding_model} (cosines of embeddings at {place})"


def test_who_compares_texts_shapes_only_where_that_is_asked() -> None:
    plan = Plan(judge="openai:m", embedding_model="openai:e")
    for judge in (make_judge(plan), make_judge(plan, asked=[["text_similarity"]])):
        assert isinstance(judge, RouterJudge)
        assert judge.name == "openai:m"
        assert judge.identity("text_similarity")
        assert judge.identity(KIND) == make_judge(Plan(judge="openai:m")).identity(KIND)
    assert isinstance(make_judge(plan, asked=[[KIND]]), SplitJudge)


def test_the_key_for_embeddings_is_demanded_only_where_texts_are_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    plan = Plan(judge="vllm:m", embedding_model="openai:e")
    with pytest.raises(UsageError, match=r"openai:e needs a key .* OPENAI_API_KEY") as caught:
        make_judge(plan, asked=[["text_similarity"]])
    assert "set it, or leave embedding_model out (no key)" in str(caught.value)
    make_judge(plan, asked=[[KIND]])
    make_judge(plan, guess=LEAST)
    offline = plan.model_copy(update={"judge": "offline"})
    judge = make_judge(offline, asked=[["generate_queries", "text_similarity"]])
    assert judge.takes("text_similarity")  # what keeps it from running is the other question
    assert not judge.takes("generate_queries")


@pytest.mark.parametrize("name", ["anthropic:e", "openai:", "openai:a,openai:b", "nobody:e"])
def test_a_model_that_can_make_no_embeddings(name: str) -> None:
    with pytest.raises(UsageError, match=f"embedding_model {name}: specify one model as"):
        make_judge(Plan(embedding_model=name))


def test_embeddings_are_priced_and_their_cost_can_be_kept() -> None:
    plan = Plan(judge="openai:gpt-4o-mini", max_cost=1)
    make_judge(plan)
    unknown = plan.model_copy(update={"embedding_model": "openai:nobody"})
    with pytest.raises(UsageError, match=r"the price of openai:nobody.* is unknown.*max_calls"):
        make_judge(unknown)
    make_judge(unknown, asked=[[KIND]])


async def test_a_dry_run_counts_the_embeddings() -> None:
    plan = Plan(judge="openai:gpt-4o-mini", votes=3)
    for guess in (LEAST, MOST):
        async with make_judge(plan, guess=guess) as judge:
            usage = (await judge.answer(TextSimilarity(text="a" * 400, others=("b",)))).usage
        assert (usage.calls, usage.prompt_tokens) == (1, 101)
        assert usage.cost_usd


async def test_a_panel_has_texts_compared_once(judge_server, kit) -> None:
    async def vectors(asked, _: object) -> object:
        texts = asked.body["input"]
        return {"data": [{"index": at, "embedding": [1, at]} for at in range(len(texts))]}

    judge_server.fault = vectors
    plan = Plan(judge="openai:a,openai:b", base_url=judge_server.url, embedding_model="openai:e")
    async with make_judge(plan) as judge:
        reply = await judge.answer(TextSimilarity(text="a", others=("b", "c")))
    assert reply.value == pytest.approx((0.5**0.5, 0.2**0.5))
    assert [asked.path for asked in judge_server.asked] == ["/v1/embeddings"]


@pytest.mark.parametrize(
    ("prompts", "said"),
    [
        ({KIND: "none.md"}, "cannot be read"),
        ({KIND: "bad.md"}, r"\{claims\} is missing"),
        ({"verify_claim": "bad.md"}, "did you mean 'verify_claims'"),
    ],
)
def test_a_prompt_that_is_none_is_told_before_the_run(prompts: dict[str, str], said: str) -> None:
    Path("bad.md").write_text("# system\nCheck.\n# user\n{contexts}\n", encoding="utf-8")
    with pytest.raises(InputError, match=said):
        make_judge(Plan(judge="openai:m", prompts=prompts))


def test_all_judges_spend_one_budget(judge_server, kit) -> None:
    run = ragstone.evaluate(
        kit.samples(10),
        metrics="faithfulness",
        judge="openai:a,openai:b",
        base_url=judge_server.url,
        max_calls=7,
    )
    assert len(judge_server.asked) == run.usage().calls == 7


def test_a_cost_ends_the_asking_also_where_the_server_tells_no_tokens(judge_server, kit) -> None:
    async def silent(asked, _: object) -> object:
        return kit.chat(asked.answer()) | {"usage": None}

    judge_server.fault = silent
    budget = Budget(max_cost=5.0)
    caller = RetryingCaller(Limits(concurrency=1, budget=budget))
    price = Price((0.001, 0, 0.001, 0))
    model = OpenAICompatibleModel(
        PROVIDERS["openai"], "m", caller=caller, timeout=5, temperature=0, base_url=judge_server.url
    )
    judge = LlmJudge(model, price=price, budget=budget, max_tokens=100)
    run = ragstone.evaluate(kit.samples(10), metrics="faithfulness", judge=judge, concurrency=1)
    usage = run.usage()
    assert usage.prompt_tokens == usage.completion_tokens == 0
    assert usage.cost_usd is not None
    assert 1.0 < usage.cost_usd < 5.0
    assert 2 <= len(judge_server.asked) == usage.calls < 20
    causes = [row.scores["faithfulness"].cause for row in run.rows]
    assert causes[0] is None
    assert causes[-1] is Cause.BUDGET


@pytest.mark.parametrize(
    ("judge", "votes"), [("openai:a", 1), ("openai:a", 3), ("openai:a,openai:b", 1)]
)
def test_so_many_calls_are_under_way_at_once(judge_server, kit, judge: str, votes: int) -> None:
    judge_server.delay = 0.02
    ragstone.evaluate(
        kit.samples(20),
        metrics="faithfulness",
        judge=judge,
        config={"votes": votes, "batch_size": 1},
        base_url=judge_server.url,
        concurrency=4,
        cache=False,
    )
    assert 2 <= judge_server.most <= 4


@pytest.mark.parametrize("votes", [1, 2])
def test_calls_are_spaced_whoever_votes(judge_server, kit, votes: int) -> None:
    judge_server.delay = 0.01
    begun = perf_counter()
    ragstone.evaluate(
        kit.samples(5),
        metrics="faithfulness",
        judge="openai:a",
        config={"votes": votes, "rpm": 60 / 0.04},
        base_url=judge_server.url,
        cache=False,
    )
    times = sorted(asked.at for asked in judge_server.asked)
    assert len(times) >= 10
    assert times[-1] - begun >= (len(times) - 1) * 0.04


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("base_url", "http://127.0.0.1:1/v1"),
        ("judge_headers", {"X-Team": "a"}),
        ("judge_body", {"seed": 1}),
    ],
)
def test_what_is_for_one_provider_is_not_for_two(name: str, value: object) -> None:
    with pytest.raises(UsageError, match=f"^{name}: for one provider, but vllm:a,.* names 2"):
        make_judge(Plan(judge="vllm:a,ollama:b", **{name: value}))
    assert make_judge(Plan(judge="vllm:a,vllm:b", **{name: value})).takes("explain")


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("judge_headers", {"X-Api-Key": "abc"}, "X-Api-Key"),
        ("judge_headers", {"Authorization": "Bearer abc"}, "Authorization"),
        ("judge_headers", {"X-Team": "Bearer abc-12345"}, "X-Team"),
        ("judge_headers", {"X-Api-Key": "abc-${NAME}"}, "X-Api-Key"),
        ("judge_body", {"seed": 1, "api_key": "abc"}, "api_key"),
        ("judge_body", {"extra": {"api_key": "abc"}}, "extra"),
    ],
)
def test_a_secret_is_no_setting(name: str, value: object, told: str) -> None:
    with pytest.raises(UsageError, match=rf"{name}.*{told}: a secret.* write ") as caught:
        Plan.of({"judge": "openai:m", name: value})
    assert "abc" not in str(caught.value)


def test_names_of_variables_and_numbers_are_no_secrets() -> None:
    headers = {"Authorization": "Bearer ${NAME}", "X-Api-Key": "${NAME}", "X-Team": "search"}
    assert Plan(judge="openai:m", judge_headers=headers).judge_headers == headers
    Plan(judge="openai:m", judge_body={"api_key": "${NAME}", "stop_token": 5})


def test_the_report_says_where_the_model_is(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = make_judge(Plan(judge="openai:m", base_url="http://user:pw@127.0.0.1:1/v1"))
    assert judge.description.startswith("an LLM at http://127.0.0.1:1/v1; ")


def test_a_local_judge_is_told_which_options_there_are() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'labels'"):
        make_judge(Plan(judge="local:m,lables=a/b"))
    with pytest.raises(UsageError, match="a local judge's threshold"):
        make_judge(Plan(judge="local:m,threshold=2"))
