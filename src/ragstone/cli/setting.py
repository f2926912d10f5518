"""Setting: an option that fills a field of the plan, made from that field."""

from collections.abc import Mapping
from typing import Any, cast

import click

from ragstone.plan import NUMBERS_OR_NONE, Plan

NONE = "none"
"""What is typed to leave a number out that may be left out."""

Schema = Mapping[str, object]
_FIELDS = cast("Mapping[str, Schema]", Plan.model_json_schema()["properties"])
_METAVARS = {"integer": "N", "number": "NUMBER"}


class Setting(click.Option):
    """An option whose value is None (or empty) where it is not said, whatever the default.

    Its type, range and the default that help shows come from the plan's field, so that they are
    written once. `flags` are made from the field's name where none are given.
    """

    def __init__(
        self,
        field: str,
        *flags: str,
        help: str,  # noqa: A002 - click's name for it
        metavar: str | None = None,
        multiple: bool = False,
    ) -> None:
        schema = _schema(field)
        super().__init__(
            [*(flags or (_flag(field, schema),)), field],
            type=_type(field, schema),
            help=help,
            metavar=metavar or _METAVARS.get(str(schema["type"])),
            multiple=multiple,
            default=None,
            show_default=_default(field) or False,
        )

    def type_cast_value(self, ctx: click.Context, value: object) -> object:
        """Return the value with its type; `none` stays as it is."""
        if isinstance(value, str) and value.lower() == NONE and self.name in NUMBERS_OR_NONE:
            return NONE
        return super().type_cast_value(ctx, value)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the line of help; click puts a default made of text between brackets."""
        record = super().get_help_record(ctx)
        if record is None:
            return None
        shown = f"default: {self.show_default}"
        return record[0], record[1].replace(f"default: ({self.show_default})", shown)


def _schema(field: str) -> Schema:
    schema = _FIELDS[field]
    either = {one["type"]: one for one in cast("list[Schema]", schema.get("anyOf", []))}
    several = either.get("array")
    return several or next((one for kind, one in either.items() if kind != "null"), schema)


def _flag(field: str, schema: Schema) -> str:
    name = field.replace("_", "-")
    return f"--{name}/--no-{name}" if schema["type"] == "boolean" else f"--{name}"


def _default(field: str) -> str:
    """Return the default as it would be typed; nothing where there is none."""
    value: object = getattr(Plan(), field)
    if isinstance(value, bool):
        name = field.replace("_", "-")
        return name if value else f"no-{name}"
    if isinstance(value, tuple):
        return " ".join(map(str, cast("tuple[object, ...]", value)))
    if field == "max_failed":
        return f"{value:.0%}"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if isinstance(value, str | int) else ""


def _type(field: str, schema: Schema) -> "click.ParamType[Any] | None":
    if "enum" in schema:
        return click.Choice(cast("list[str]", schema["enum"]))
    if schema["type"] == "boolean":
        return None
    if schema["type"] not in _METAVARS or field == "max_failed":
        return click.STRING
    over = cast("int | None", schema.get("exclusiveMinimum"))
    low = cast("int | None", schema.get("minimum", over))
    high = cast("int | None", schema.get("maximum"))
    if low is None and high is None:
        return click.FLOAT
    made = click.IntRange if schema["type"] == "integer" else click.FloatRange
    return made(low, high, min_open=over is not None)
