"""Strict schema: a type as JSON Schema, as servers take it that hold a reply to one."""

from collections.abc import Mapping
from typing import cast

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """An object with these fields, all of them, and no other."""

    model_config = ConfigDict(extra="forbid")


def strict_schema(title: str, model: type[BaseModel]) -> Mapping[str, object]:
    """Return a model's JSON schema, in one piece and without what a model has no use for."""
    whole = model.model_json_schema()
    inner = cast("dict[str, object]", _inlined(whole, whole.pop("$defs", {})))
    return {"title": title, **inner}


def _inlined(node: object, parts: Mapping[str, object]) -> object:
    if isinstance(node, list):
        return [_inlined(item, parts) for item in cast("list[object]", node)]
    if not isinstance(node, dict):
        return node
    fields = cast("dict[str, object]", node)
    if isinstance(name := fields.get("$ref"), str):
        return _inlined(parts[name.rpartition("/")[2]], parts)
    return {key: _inlined(value, parts) for key, value in fields.items() if key != "title"}
