"""Every setting has an effect on a run, or is reported."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from ragstone.errors import UsageError
from ragstone.evaluation.effects import check_judge_settings, settings_without_effect
from ragstone.evaluation.runner import estimate, evaluate
from ragstone.judges.base import ScriptedJudge
from ragstone.metrics import select
from ragstone.targets.base import Target
from ragstone.targets.factory import get_target
from ragstone.types.config import SETTINGS, Plan
from ragstone.types.gate import Gate

LLM = "openai:gpt-4o-mini"
CHANGED: Mapping[str, object] = {
    "judge": LLM, "votes": 3, "base_url": "http://127.0.0.1:9", "embedding_model": "openai:e",
    "temperature": 0.5, "max_tokens": 99, "context_window": 2000, "strict_json": True,
    "prompts": {"verify_claims": "my.md"}, "cascade_threshold": 0.5, "cascade_audit_rate": 0.5,
    "cache": False, "reply_cache": "r.db", "rpm": 9.0, "tpm": 9.0, "max_calls": 9, "max_cost": 9.0,
    "policy": "ragas",
    "verify": "each", "claim_source": "sentences", "batch_size": 3, "truths_limit": 3,
    "include_reason": True, "allow_partial": True, "min_similarity": 0.8, "delay": 1.0, "k": 3,
    "concurrency": 3, "workers": 3, "engine": "ray", "timeout": 9.0, "retries": 3,
    "gates_on": "interval", "max_age": 9, "batch_api": True, "target": "http://127.0.0.1:9",
}  # fmt: skip
"""A value of each setting that is not the default."""
ALWAYS = {
    "offline", "fail_fast", "limit", "sample", "seed", "sheet", "columns", "metrics",
    "calibration", "cluster", "max_failure_rate",
    "data", "plugin", "fail_under", "fail_over", "min_coverage", "store",
}  # fmt: skip
"""Settings that always have an effect, or are refused when the data or the gates are read."""
CLAIMS = {"policy", "verify", "claim_source", "batch_size", "include_reason", "allow_partial"}
RANKING = {"k"}
JUDGE = {"judge", "concurrency", "engine", "workers"}
CACHE = {"cache", "reply_cache"}
SERVER = CACHE | {"base_url", "rpm", "tpm", "max_calls", "max_cost", "timeout", "retries"}
MODEL = SERVER | {
    "batch_api",
    "votes",
    "temperature",
    "max_tokens",
    "context_window",
    "strict_json",
}
CALLED = {"target", "concurrency", "timeout", "delay", "k", "min_similarity"}
CASCADE = {"cascade_threshold", "cascade_audit_rate"}
CLAIM_PROMPTS = {"prompts"}
PRESET = {"preset"}
FUNCTION, API = "function", "api"
SITUATIONS: Mapping[str, tuple[str, str, str | None, set[str]]] = {
    "a ranking in the data": ("hit", "offline", None, RANKING),
    "a ranking of an API": ("hit", "offline", API, RANKING | CALLED | {"retries"}),
    "a ranking of a function": ("hit", "offline", FUNCTION, RANKING | CALLED - {"min_similarity"}),
    "offline": ("faithfulness", "offline", None, CLAIMS | JUDGE | PRESET),
    "an LLM": ("faithfulness", LLM, None, CLAIMS | JUDGE | MODEL | CLAIM_PROMPTS | PRESET),
    "an LLM without claims": ("context_precision", LLM, None, JUDGE | MODEL),
    "texts, offline": ("answer_similarity", "offline", None, JUDGE | {"embedding_model"}),
    "texts, an LLM": ("answer_similarity", LLM, None, JUDGE | SERVER | {"embedding_model"}),
    "a local model": ("faithfulness", "local:x", None, CLAIMS | JUDGE | PRESET | CACHE),
    "a cascade": (
        "faithfulness",
        f"cascade:offline+{LLM}",
        API,
        CLAIMS | JUDGE | MODEL | CLAIM_PROMPTS | CASCADE | CALLED | PRESET,
    ),
    "an own policy": (
        "faithfulness:deepeval", "offline", None, CLAIMS - {"policy"} | JUDGE | PRESET
    ),
    "an unused judge": ("hit", LLM, None, RANKING),
}  # fmt: skip
"""Metric, judge, the RAG system that is called, and the settings with an effect."""


def ask(query: str, k: int) -> str:
    return query * k


def target_of(kind: str | None) -> Target | None:
    if kind is None:
        return None
    return get_target(ask if kind == FUNCTION else "http://127.0.0.1:9", Plan(), k=5)


@pytest.mark.parametrize("situation", SITUATIONS)
def test_each_setting_has_an_effect_or_is_reported(situation: str) -> None:
    metric, judge, target, effective = SITUATIONS[situation]
    wrong: list[str] = []
    assert CHANGED.keys() | ALWAYS | {"preset"} == SETTINGS.keys()
    for name in SETTINGS:
        changed = {name: CHANGED[name]} if name in CHANGED and name != "judge" else {}
        settings = {"metrics": (metric,), "judge": judge, **changed}
        if name == "preset":
            settings |= {"policy": "ragas"}
        if name in ("truths_limit", "embedding_model"):
            settings |= {"verify": "batch"}
        plan = Plan.model_validate(settings)
        told = settings_without_effect(
            {name: f"--{name}"},
            plan,
            metrics=select([metric], **plan.parameters),
            target=target_of(target),
            own_judge=False,
        )
        default = name == "judge" and judge == "offline"
        if (not told) != (name in effective | ALWAYS or default):
            wrong.append(f"{name}: {told}")
    assert wrong == []


def test_parameters_that_depend_on_another_one_are_reported_without_it() -> None:
    def reported(**settings: object) -> bool:
        plan = Plan.model_validate(settings)
        metrics = select(["faithfulness"], **plan.parameters)
        named = {name: name for name in settings if name not in ("verify", "gates")}
        return bool(
            settings_without_effect(named, plan, metrics=metrics, target=None, own_judge=False)
        )

    assert reported(truths_limit=3)
    assert not reported(truths_limit=3, verify="truths")
    assert reported(batch_size=3, verify="each")
    gate = Gate(metric="faithfulness", op=">=", threshold=0.5)
    assert reported(gates_on="interval")
    assert not reported(gates_on="interval", gates=(gate,))


def test_settings_of_another_kind_of_judge_are_refused() -> None:
    for name in SETTINGS:
        refused = name in MODEL - CACHE - {"max_calls", "max_cost", "timeout", "retries"}
        refused |= name in CASCADE or name == "prompts"
        if refused:
            with pytest.raises(UsageError, match=f"--{name}: only for "):
                check_judge_settings({name: f"--{name}"}, Plan())
        else:
            check_judge_settings({name: f"--{name}"}, Plan())


ROW = {"query": "q", "ranking": ["a"], "relevance": ["a"], "response": "A.", "contexts": ["A."]}


def test_in_python_only_options_are_reported(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="min_similarity, delay have no effect: no RAG system is"):
        evaluate([ROW], metrics="hit", min_similarity=0.8, delay=1.0)
    told: list[str] = []
    evaluate([ROW], metrics="hit", max_retries=3, verify="each", on_notice=told.append)
    assert told == [
        "max_retries has no effect: no RAG system is called and no metric uses a judge",
        "verify has no effect: no metric uses it",
    ]
    estimate([ROW], metrics="hit", delay=1.0, on_notice=told.append)
    assert told[2:] == ["delay has no effect: no RAG system is called"]
    (tmp_path / "ragstone.yaml").write_text("delay: 1\nverify: each\n")
    evaluate([ROW], metrics="hit", config=tmp_path / "ragstone.yaml")
    evaluate([ROW], metrics="hit", plan=Plan(delay=1.0), concurrency=8)


def test_settings_do_not_configure_a_judge_object() -> None:
    own = ScriptedJudge(
        {"extract_claims": [{"text": "c"}], "verify_claims": [{"label": "SUPPORTED"}]}
    )
    told: list[str] = []
    evaluate([ROW], metrics="faithfulness", judge=own, temperature=0.5, on_notice=told.append)
    assert told == ["temperature has no effect: the judge object has its own settings"]
    evaluate([ROW], metrics="hit", judge=own)  # several evaluations may share it
    with pytest.warns(UserWarning, match="judge has no effect: no metric uses a judge"):
        evaluate([ROW], metrics="hit", judge="ollama:m")
