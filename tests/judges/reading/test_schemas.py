import json

import pytest

from ragstone.judges.reading import SCHEMAS, verdict_schema
from ragstone.questions import Explain, ExtractClaims, ExtractTruths, VerifyClaims

ALL = [*SCHEMAS.values(), verdict_schema(partial=True)]


def objects_of(node: object) -> list[dict[str, object]]:
    """All schemas of objects in a schema."""
    if isinstance(node, list):
        return [found for entry in node for found in objects_of(entry)]
    if not isinstance(node, dict):
        return []
    below = [found for value in node.values() for found in objects_of(value)]
    return [node, *below] if node.get("type") == "object" else below


def test_every_kind_of_question_has_a_schema() -> None:
    kinds = {kind.kind for kind in (ExtractClaims, VerifyClaims, ExtractTruths, Explain)}
    assert set(SCHEMAS) == kinds


@pytest.mark.parametrize("schema", ALL)
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
