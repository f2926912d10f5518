"""Names of other tools: what answers them in Python, in ragstone.yaml and on the command line."""

import re
import tomllib
from pathlib import Path

import pytest
from tests.cases import each_case

import ragstone
from ragstone.errors import InputError, UnknownNameError, UsageError, other_name
from ragstone.evaluation.config_file import KEYS, read_config
from ragstone.evaluation.runner import Options
from ragstone.types.config import SETTINGS

TABLE = tomllib.loads(
    Path(ragstone.__file__).with_name("other_names.toml").read_text(encoding="utf-8")
)
SETTING = {
    "api_base_url": "use target, the URL of the RAG API (on the command line --api-url)",
    "score_threshold": "use min_similarity",
    "threshold": "use faithfulness,threshold=0.8 as metric for a pass mark, or the gate fail_under",
    "top_k": "use k (--k)",
    "adapter": "use judge, with the provider before the model: anthropic:MODEL (--judge)",
    "useRagas": "use the preset promptfoo-plan (--preset promptfoo-plan)",
    "export": "use run.report(excel='results.xlsx')",
    "measure": "use ragstone.evaluate(",
    "test_data_path": "use the first argument of evaluate",
    "verbose": "use run.rows",
    "model_name": "use model (--model)",
}
OPTIONS = sorted(SETTING.keys() - {"threshold", "verbose"})  # these two are options of `run`


def option(name: str) -> str:
    return "--" + re.sub(r"(?=[A-Z])|_", "-", name).lower()


@each_case("name", SETTING)
def test_f5_python_names_the_setting_that_is_meant(name: str) -> None:
    with pytest.raises(UnknownNameError) as told:
        ragstone.evaluate([{"query": "q"}], **{name: 1})
    assert f"no option of evaluate named {name!r}; {SETTING[name]}" in str(told.value)


@each_case("name", SETTING)
def test_f5_a_config_file_or_mapping_names_the_setting_that_is_meant(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / "ragstone.yaml").write_text(f"{name}: 0.8\n", encoding="utf-8")
    with pytest.raises(InputError) as told:
        read_config(tmp_path / "ragstone.yaml")
    assert f"line 1: unknown setting {name!r}; {SETTING[name]}" in str(told.value)
    with pytest.raises(UsageError, match=re.escape(SETTING[name])):
        ragstone.evaluate([{"query": "q"}], config={name: 0.8})


def test_f5_the_command_line_names_the_option_that_is_meant(fork, tmp_path: Path) -> None:
    for name in OPTIONS:
        ended = fork("run", "x.jsonl", option(name), "1", folder=tmp_path)
        assert ended["code"] == 2
        assert f"{option(name)}'; {SETTING[name]}" in ended["err"], name
        assert "Did you mean" not in ended["err"]


def test_no_entry_of_the_table_is_a_name_of_ours() -> None:
    ours = {*SETTINGS, *KEYS, *Options.__annotations__} - {"strict_json", "max_retries", "api_url"}
    assert not ours & TABLE["setting"].keys()
    assert not set(ragstone.__all__) & TABLE["ragstone"].keys()


@each_case("name", TABLE["ragstone"])
def test_an_import_of_the_seeds_names_what_to_use_and_that_is_there(name: str) -> None:
    with pytest.raises(ImportError, match=re.escape(f"there is no ragstone.{name}; ")):
        exec(f"from ragstone import {name}")
    for line in re.findall(r"`(from [^`]+)`", TABLE["ragstone"][name]):
        exec(line)


TEXT = "It is red."
ROW = {"query": "Q?", "response": TEXT, "contexts": [TEXT], "point_ids": ["1"], "ranking": ["1"]}


@pytest.fixture(scope="module")
def run() -> ragstone.Run:
    return ragstone.evaluate([ROW], metrics=["faithfulness", "hit"])


def test_attributes_of_the_seeds_name_what_to_use(run: ragstone.Run) -> None:
    score = run.rows[0].scores["faithfulness"]
    parts = {
        "Score": score,
        "JudgedClaim": score.claims[0],
        "Verdict": ragstone.Verdict(label=ragstone.Label.SUPPORTED),
        "Summary": run.summary()["faithfulness"],
        "Row": run.rows[0],
        "Run": run,
    }
    assert parts.keys() | {"setting", "metric", "ragstone"} == TABLE.keys()
    for name, part in parts.items():
        for attribute, use in TABLE[name].items():
            with pytest.raises(AttributeError, match=re.escape(f"{attribute!r}; {use}")):
                getattr(part, attribute)
    with pytest.raises(AttributeError, match=r"object has no attribute 'colour'$"):
        score.colour  # noqa: B018
    assert other_name("Score", "isValid") == other_name("Score", "is_valid")


def test_s3_17_a_run_says_where_its_summary_is(run: ragstone.Run) -> None:
    with pytest.raises(TypeError, match=r"use run\.summary\(\)\['faithfulness'\]\.mean"):
        run["summary"]["score"]


def test_f11_a_summary_is_found_by_the_metrics_bare_name(run: ragstone.Run) -> None:
    assert run.summary()["hit"] is run.summary()["hit@5"]
    assert list(run.summary()) == ["faithfulness", "hit@5"]
    with pytest.raises(KeyError, match="recall; the metrics of this run are faithfulness, hit@5"):
        run.summary()["recall"]
    several = ragstone.evaluate([ROW], metrics="hit", k=[1, 3])
    with pytest.raises(KeyError, match="hit@1, hit@3"):
        several.summary()["hit"]
