from tests.cases import each_case

from ragstone.judges.spec import JudgeSpec, is_free, is_model, split_names


@each_case(
    ("said", "names"),
    [
        ("offline", ["offline"]),
        ("openai:a, offline ,vllm:b", ["openai:a", "offline", "vllm:b"]),
        ("local:m,labels=a/b,length=9,openai:a", ["local:m,labels=a/b,length=9", "openai:a"]),
    ],
)
def test_a_comma_ends_a_name_unless_an_option_follows(said: str, names: list[str]) -> None:
    assert split_names(said) == names


def test_a_name_has_a_provider_a_model_and_options() -> None:
    name = JudgeSpec.of("local:C:/models/nli,labels=a/b,threshold=0.7")
    assert (name.provider, name.model) == ("local", "C:/models/nli")
    assert dict(name.options) == {"labels": "a/b", "threshold": "0.7"}
    assert JudgeSpec.of("offline") == JudgeSpec("", "offline", {})


def test_the_llms_are_told_from_the_judges_of_this_machine() -> None:
    said = "offline,openai:a,local:m,file=x.onnx,vllm:b"
    assert list(filter(is_model, split_names(said))) == ["openai:a", "vllm:b"]


@each_case("name", ["offline", "local:m", "offline,local:m", "offline,openai:a", "openai:a"])
def test_what_no_llm_has_a_part_in_says_the_same_each_time(name: str) -> None:
    assert is_free(name) is ("openai" not in name)
