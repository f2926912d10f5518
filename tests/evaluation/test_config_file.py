from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cases import each_case

from ragstone.errors import InputError, UnknownNameError, UsageError
from ragstone.evaluation.config_file import KEYS, OTHER_KEYS, Config, read_config
from ragstone.types.config import Plan
from ragstone.types.gate import Gate

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a config file into an empty working folder."""
    monkeypatch.chdir(tmp_path)

    def write(text: str) -> Path:
        path = Path("ragstone.yaml")
        path.write_text(text, encoding="utf-8")
        return path

    return write


@each_case(
    ("line", "field", "value"),
    [
        ("model: anthropic:claude, gpt-4o", "judge", "anthropic:claude,openai:gpt-4o"),
        ("metrics: [hit, 'recall,mrr']", "metrics", ("hit", "recall", "mrr")),
        ("metrics: 'p@2,denominator=r mrr'", "metrics", ("p@2,denominator=r", "mrr")),
        ("api_url: http://localhost:1", "target", "http://localhost:1"),
        ("map: {query: Frage}", "columns", {"query": "Frage"}),
        ("sheet: 2024", "sheet", "2024"),
        ("temperature: none", "temperature", None),
        ("limit:", "limit", None),
        ("k: 1,3, 5", "k", (1, 3, 5)),
        ("max_failure_rate: 5%", "max_failure_rate", 0.05),
        ("fail_under: {hit: 80%}", "gates", (Gate(metric="hit", op=">=", threshold=0.8),)),
    ],
)
def test_a_key_is_a_setting(write: Write, line: str, field: str, value: object) -> None:
    assert getattr(read_config(write(line)).plan(), field) == value


def test_files_stand_beside_the_config(tmp_path: Path) -> None:
    folder = tmp_path / "settings"
    folder.mkdir()
    path = folder / "mine.yaml"
    for target in ("api.yaml", "rag.py:answer"):
        path.write_text(
            f"data: d.xlsx\nplugin: [mine.py, my.module]\ntarget: {target}\n"
            "prompts: {verify_claims: p.md}\n",
            encoding="utf-8",
        )
        config = read_config(path)
        assert config.data == str(folder / "d.xlsx")
        assert config.plugins == (str(folder / "mine.py"), "my.module")
        assert config.plan().target == str(folder / target)
        assert config.plan().prompts == {"verify_claims": str(folder / "p.md")}


def test_what_is_said_goes_before_the_file_and_the_file_before_its_preset(write: Write) -> None:
    config = read_config(write("preset: deepeval\npolicy: ragas\nk: 3\nbatch_size: 7\n"))
    plan = config.plan({"k": 9})
    assert (plan.k, plan.batch_size) == (9, 7)
    assert (plan.policy, plan.verify, plan.include_reason) == ("ragas", "truths", True)
    plan = config.plan(preset_name="promptfoo-plan")
    assert (plan.policy, plan.verify, plan.batch_size) == ("promptfoo-plan", "batch", 5)
    with pytest.raises(UnknownNameError, match="there is no preset named 'ragaz'"):
        config.plan(preset_name="ragaz")


def test_names_and_gates_are_joined(write: Write) -> None:
    config = read_config(
        write("map: {query: Frage, id: Nr}\nfail_under: {hit: 0.8, mrr: 0.5}\nfail_over: {hit: 1}")
    )
    said = {"columns": {"id": "Id"}, "gates": (Gate(metric="hit", op=">=", threshold=0.9),)}
    plan = config.plan(said)
    assert plan.columns == {"query": "Frage", "id": "Id"}
    assert [(gate.metric, gate.op, gate.threshold) for gate in plan.gates] == [
        ("mrr", ">=", 0.5),
        ("hit", "<=", 1.0),
        ("hit", ">=", 0.9),
    ]


def test_all_problems_are_told_at_once_with_their_rows(write: Write) -> None:
    path = write(
        "min_similarty: 1\nk: five\nmodel: x\njudge: y\nverify: eech\npolicy: strickt\n"
        "max_tokens: [1]\nfail_under: {hit: high}\nfail_over: 3\nlimit: 0\nmetrics: {hit: 1}\n"
    )
    with pytest.raises(InputError) as raised:
        read_config(path)
    told = [str(problem) for problem in raised.value.problems]
    assert told == [
        "line 1: unknown setting 'min_similarty'; did you mean 'min_similarity'?",
        (
            "line 2: k 'five': write a whole number of at least 1, or several separated by "
            "commas, such as 1,3,5,10"
        ),
        "line 4: judge is already set on line 3, as model; remove one",
        "line 5: verify 'eech': must be 'batch', 'each' or 'truths'",
        "line 6: policy 'strickt': unknown policy; did you mean 'strict'?",
        "line 7: max_tokens: must be a whole number",
        "line 8: fail_under: hit: not a number; write 0.8 or 80%",
        "line 9: fail_over '3': expected lines of `name: value`",
        "line 10: limit '0': must be at least 1",
        "line 11: metrics: expected one value or a list",
    ]


def test_no_secret_is_told(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "sk-'\\secret")
    keys = [key for key in KEYS if key not in ("prompts", "fail_under", "fail_over", *OTHER_KEYS)]
    lines = [f"{key}: ${{A_KEY}}" for key in keys]
    lines += ["prompts: {x: '${A_KEY}', x: 1}", "fail_under: {hit: '${A_KEY}'}"]
    path = write("\n".join([*lines, "api_key: sk-literal-secret"]))
    with pytest.raises(InputError) as raised:
        read_config(path)
    assert len(raised.value.problems) > 20
    told = "\n".join(map(str, raised.value.problems))
    assert "secret" not in told
    assert "'${A_KEY}'" in told


def test_a_missing_variable_is_named(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("A_HOST", raising=False)
    with pytest.raises(InputError, match=r"line 1: base_url .*variable A_HOST is not set"):
        read_config(write("base_url: http://${A_HOST}/v1"))
    monkeypatch.setenv("A_HOST", "h:1")
    assert read_config(write("base_url: http://${A_HOST}/v1")).plan().base_url == "http://h:1/v1"


def test_an_empty_file_says_nothing(write: Write, tmp_path: Path) -> None:
    assert read_config(write("# nothing yet\n")) == Config()
    assert Config().plan() == Plan()
    with pytest.raises(UsageError, match=r"there is no file .*none\.yaml"):
        read_config(tmp_path / "none.yaml")
