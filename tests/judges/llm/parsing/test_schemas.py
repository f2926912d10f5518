import json

from tests.cases import each_case

from ragstone.judges.llm.parsing.schemas import (
    SCHEMAS,
    queries_schema,
    rating_schema,
    verdict_schema,
)
from ragstone.types.questions import VerifyClaims

ALL = [
    *SCHEMAS.values(),
    verdict_schema(partial=True),
    queries_schema(5),
    rating_schema([-1, 0, 1]),
]


def objects_of(node: object) -> list[dict[str, object]]:
    """All schemas of objects in a schema."""
    if isinstance(node, list):
        return [found for entry in node for found in objects_of(entry)]
    if not isinstance(node, dict):
        return []
    below = [found for value in node.values() for found in objects_of(value)]
    return [node, *below] if node.get("type") == "object" else below


@each_case("schema", ALL)
def test_a_strict_mode_takes_every_schema(schema: dict[str, object]) -> None:
    assert schema["title"]
    for node in objects_of(schema):
        assert node["additionalProperties"] is False
        assert node["required"] == list(node["properties"])
    assert "$" not in json.dumps(dict(schema))
    assert "description" not in json.dumps(dict(schema))


def test_the_label_comes_last_and_partial_support_is_offered_only_when_asked_for() -> None:
    for partial in (False, True):
        items = verdict_schema(partial)["properties"]["verdicts"]["items"]["properties"]
        assert list(items) == ["claim", "reason", "evidence", "label"]
        assert ("PARTIALLY_SUPPORTED" in items["label"]["enum"]) is partial
    assert verdict_schema(partial=False) == SCHEMAS[VerifyClaims.kind]


def test_what_decides_comes_after_its_reason() -> None:
    for kind in ("grade_contexts", "grade_sentences"):
        fields = list(SCHEMAS[kind]["properties"]["grades"]["items"]["properties"])
        assert (fields[0], fields[-1]) == ("number", "relevant")
    assert list(SCHEMAS["rate_response"]["properties"]) == ["reason", "level"]


def test_no_reasons_are_asked_for_on_sentences() -> None:
    assert "reason" in json.dumps(dict(SCHEMAS["grade_contexts"]))
    assert "reason" not in json.dumps(dict(SCHEMAS["grade_sentences"]))


def test_every_guess_has_a_key_and_every_level_is_offered() -> None:
    queries = queries_schema(3)["properties"]["queries"]
    assert queries["required"] == ["1", "2", "3"]
    assert rating_schema([1, 3])["properties"]["level"]["enum"] == [1, 3]
