from pathlib import Path

import pytest
from tests.cases import each_case

import ragstone
from ragstone.errors import InputError, UsageError
from ragstone.judges.factory import LEAST, make_judge
from ragstone.judges.panel import PanelJudge
from ragstone.types.config import Plan
from ragstone.types.questions import TextSimilarity

KIND = "verify_claims"


@pytest.fixture(autouse=True)
def _empty_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "k")


@each_case(
    ("judge", "name"),
    [
        ("offline,openai:a", "offline,3*openai:a"),
        ("openai:a, openai:b", "3*openai:a,3*openai:b"),
    ],
)
def test_several_names_or_votes_are_a_panel(judge: str, name: str) -> None:
    for options in ({}, {"guess": LEAST}):
        made = make_judge(Plan(judge=judge, votes=3), asked=[[KIND]], **options)
        assert made.name == name
        if isinstance(made, PanelJudge) and not options:
            identities = [each.identity(KIND) for each in made.judges if each.name != "offline"]
            assert len(set(identities)) == len(identities), "a vote is asked anew"


@each_case(
    ("name", "told"),
    [
        *((name, "such as openai:gpt-4o-mini, or use offline") for name in ("openai", ":m", "")),
        ("gpt-4o:", "no judge named 'gpt-4o:'; name an LLM as .*such as openai:gpt-4o, or"),
        ("ofline", "did you mean 'offline'"),
        ("opanai:gpt-4o", "did you mean 'openai'"),
        ("local:m,threshold=0.5,threshold=0.9", "threshold= is set twice"),
        ("offline,threshold=2", "the offline judge's threshold"),
        ("offline,treshold=0.6", "option of the offline judge.*threshold"),
        ("openai:a,threshold=0.7", "options such as threshold= are for local judges"),
    ],
)
def test_a_name_that_stands_for_nothing_is_refused(name: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        make_judge(Plan(judge=name))


def test_a_missing_key_names_its_variable_and_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(UsageError) as caught:
        make_judge(Plan(judge="openai:gpt-4o-mini"))
    said = str(caught.value)
    assert all(word in said for word in ("openai:gpt-4o-mini", "OPENAI_API_KEY", "judge offline"))
    make_judge(Plan(judge="openai:gpt-4o-mini"), guess=LEAST)  # a dry run asks nobody
    make_judge(Plan(judge="openai:gpt-4o-mini", base_url="http://localhost:1/v1"))


def test_the_place_from_the_environment_is_used(judge_server, kit, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("OPENAI_BASE_URL", judge_server.url)
    more = {"judge_headers": {"X-Team": "search"}, "judge_body": {"seed": 7}}
    judge = "openai:mock,openai:mock"
    for _ in range(2):  # what was said is not asked again
        run = ragstone.evaluate(kit.samples(3), metrics="faithfulness", judge=judge, config=more)
        scores = [row.scores["faithfulness"].value for row in run.rows]
        assert scores == pytest.approx([kit.right_score(row) for row in range(3)])
    assert judge_server.asked_of("extract") == dict.fromkeys(range(3), 1)
    assert judge_server.asked_of("verify") == dict.fromkeys(range(3), 2)
    for asked in judge_server.asked:
        assert asked.path == "/v1/chat/completions"
        assert (asked.headers["x-team"], asked.body["seed"]) == ("search", 7)


def test_a_cost_that_cannot_be_kept_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = r"the price of openai:nobody.* is unknown.*max_calls"
    with pytest.raises(UsageError, match=unknown):
        make_judge(Plan(judge="openai:nobody", max_cost=1))
    plan = Plan(judge="openai:gpt-4o-mini", max_cost=1)
    make_judge(plan)
    embeds = plan.model_copy(update={"embedding_model": "openai:nobody"})
    with pytest.raises(UsageError, match=unknown):
        make_judge(embeds)
    make_judge(embeds, asked=[[KIND]])
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:1/v1")  # not its maker's price
    with pytest.raises(UsageError, match="is unknown, so max_cost"):
        make_judge(plan)


def comparing(plan: Plan, **options: object) -> str:
    """Return who compares texts, as a report says it."""
    judge = make_judge(plan, **options)
    assert judge.takes("text_similarity")
    return judge.description.partition("; text_similarity by ")[2]


HERE = "http://localhost:1/v1"
SMALL = "openai:text-embedding-3-small (cosines of"
NGRAMS = "offline (hashed character n-grams, not meaning)"


@each_case(
    ("judge", "embeds", "base_url", "who"),
    [
        *((judge, None, None, SMALL) for judge in ("openai:m", "openai:a,vllm:b")),
        *((judge, None, None, NGRAMS) for judge in ("vllm:m", "offline")),
        ("openai:m", None, HERE, NGRAMS),
        ("vllm:m", "e", None, "openai:e (cosines of embeddings at"),
        ("vllm:m", "ollama:e:latest", None, "ollama:e:latest (cosines of"),
        # a base_url is the place of the judge's provider
        ("vllm:m", "vllm:e", HERE, f"vllm:e (cosines of embeddings at {HERE})"),
        ("vllm:m", "openai:e", HERE, "openai:e (cosines of embeddings at https://api.openai.com"),
        ("offline", "openai:e", HERE, f"openai:e (cosines of embeddings at {HERE})"),
    ],
)
def test_who_compares_texts(judge: str, embeds: str | None, base_url: str | None, who: str) -> None:
    plan = Plan(judge=judge, embedding_model=embeds, base_url=base_url)
    assert comparing(plan).startswith(who)
    plain = plan.model_copy(update={"embedding_model": None})
    one, other = (make_judge(each).identity(KIND) for each in (plan, plain))
    assert one == other, "it shapes nothing else"


def test_the_key_for_embeddings_is_demanded_only_where_texts_are_compared(monkeypatch) -> None:
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


@each_case("name", ["anthropic:e", "openai:", "openai:a,openai:b", "nobody:e"])
def test_a_model_that_can_make_no_embeddings(name: str) -> None:
    with pytest.raises(UsageError, match=f"embedding_model {name}: specify one model as"):
        make_judge(Plan(embedding_model=name))


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


@each_case(
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


@each_case(
    ("name", "value"),
    [("base_url", HERE), ("judge_headers", {"X-Team": "a"}), ("judge_body", {"seed": 1})],
)
def test_what_is_for_one_provider_is_not_for_two(name: str, value: object) -> None:
    with pytest.raises(UsageError, match=f"^{name}: for one provider, but vllm:a,.* names 2"):
        make_judge(Plan(judge="vllm:a,ollama:b", **{name: value}))
    assert make_judge(Plan(judge="vllm:a,vllm:b", **{name: value})).takes("explain")


@each_case(
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
    headers = {"Authorization": "Bearer ${NAME}", "X-Api-Key": "${NAME}", "X-Team": "search"}
    Plan.of({"judge_headers": headers, "judge_body": {"api_key": "${NAME}", "stop_token": 5}})
