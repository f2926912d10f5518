from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import ragstone
from ragstone.errors import UsageError
from ragstone.evaluation.recorder import judge_key
from ragstone.judges.factory import make_judge
from ragstone.results.judge_test import FILE, JudgeTest, TrialResult, load_test, save_test
from ragstone.types.claim import Label
from ragstone.types.config import Plan

TEST = JudgeTest(
    judge="offline", data="d", at="2026-01-02T03:04:05Z", version="1", samples=1, claims=1,
    supported=1, asked=1, failed=0, kinds=(), calls=0, cost_usd=0.0,
)  # fmt: skip


@pytest.fixture(autouse=True)
def _empty_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_of_one_data_the_newest_test_of_each_judge_is_kept() -> None:
    assert load_test("a") is None
    later = TEST.model_copy(update={"claims": 9})
    small = TEST.model_copy(update={"data": "e", "claims": 1})
    for key, test in (("a", TEST), ("b", TEST), ("a", later), ("a", small)):
        assert save_test(key, test) is None
    assert (load_test("a"), load_test("b")) == (later, TEST), "of several data the largest"
    assert [path.name for path in FILE.parent.iterdir()] == [FILE.name]


def test_claims_are_told_and_not_kept() -> None:
    tried = TrialResult(
        kind="number", sample="s", was="1", claim="2", label_before=Label.SUPPORTED,
        label=Label.SUPPORTED, right=False,
    )  # fmt: skip
    test = TEST.model_copy(update={"tried": (tried,)})
    assert test.missed() == {"number": [tried]}
    save_test("a", test)
    assert load_test("a") == TEST


def test_a_file_that_cannot_be_read_is_as_none_and_set_aside() -> None:
    FILE.parent.mkdir()
    for n in (1, 2):
        FILE.write_text(f"{{ {n}")
        assert load_test("a") is None
        aside = save_test("a", TEST)
        assert aside == FILE.with_name(f"judge-tests.unread-{n}.json")
        assert aside.read_text() == f"{{ {n}"
        assert load_test("a") == TEST
    assert save_test("b", TEST) is None
    FILE.unlink()
    FILE.mkdir()
    with pytest.raises(OSError, match=FILE.name):
        save_test("a", TEST)
    assert FILE.is_dir()


def test_of_many_that_keep_at_the_same_time_none_is_lost() -> None:
    keys = [str(n) for n in range(24)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: save_test(key, TEST), keys))
    assert [key for key in keys if load_test(key) != TEST] == []
    assert [path.name for path in FILE.parent.iterdir()] == [FILE.name]


def key(version: str = "1", **fields: object) -> str:
    plan = Plan.of(fields)
    return judge_key(plan, make_judge(plan), version)


def test_another_judge_setting_or_version_has_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    llm = {"judge": "openai:a"}
    assert key() == key(max_calls=3, cache=False)
    others = [key(), key("2"), key(**llm), key(**llm, votes=3), key(**llm, temperature=1.0)]
    assert len(set(others)) == len(others)


def test_a_run_by_the_tested_judge_tells_the_test() -> None:
    rows = [{"query": "q", "response": "It is red.", "contexts": ["It is red."], "ranking": []}]
    version = ragstone.evaluate(rows, metrics="faithfulness").manifest.version
    save_test(key(version), TEST)
    assert ragstone.evaluate(rows, metrics="faithfulness").manifest.judge_test == str(TEST)
    assert ragstone.evaluate(rows, metrics="abstention").manifest.judge_test is None
    with pytest.raises(UsageError):
        ragstone.evaluate(rows, metrics="faithfulness", judge="openai:a")
