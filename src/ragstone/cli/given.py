"""Given: what the command line of `run` said, and the plan, data and outputs that it means."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

import click

from ragstone.cli.outcome import Outputs
from ragstone.demo.dataset import DATASET
from ragstone.errors import UsageError
from ragstone.gates import gate, share
from ragstone.judges import get_judge
from ragstone.plan import DEFAULT_API, Plan


class Given(TypedDict):
    """What the command line said, by the names of its options."""

    data: str | None
    test_data: str | None
    metric: tuple[str, ...]
    k: int
    threshold: float
    api_url: str | None
    target: str | None
    limit: int | None
    columns: tuple[str, ...]
    sheet: str | None
    verbose: bool
    output: Path | None
    no_export: bool
    list_metrics: bool
    plugin: tuple[str, ...]
    judge: str | None
    model: str | None
    embedding_model: str | None
    policy: str
    concurrency: int
    timeout: float
    max_retries: int
    delay: float
    fail_under: tuple[str, ...]
    fail_over: tuple[str, ...]
    max_failed: str
    json: Path | None
    rows: Path | None


def outputs_of(given: Given) -> Outputs:
    """Return where the results go."""
    return Outputs(
        workbook=given["output"],
        export=not given["no_export"],
        json=given["json"],
        rows=given["rows"],
        verbose=given["verbose"],
    )


def plan_of(given: Given) -> Plan:
    """Return the plan.

    Raises:
        UsageError: options contradict each other, or cannot be read.
    """
    target = _one("--target", given["target"], "--api-url", given["api_url"])
    as_said = ("k", "threshold", "policy", "limit", "sheet", "concurrency", "timeout", "delay")
    return Plan.of(
        {
            **{name: given[name] for name in as_said},
            "metrics": _metrics(given["metric"]) or ("all",),
            "judge": _judge(given),
            "target": target,
            "fallback_target": DEFAULT_API if target is None else None,
            "columns": _columns(given["columns"]),
            "retries": given["max_retries"],
            "gates": (
                *(gate(text, ">=") for text in given["fail_under"]),
                *(gate(text, "<=") for text in given["fail_over"]),
            ),
            "max_failed": share(given["max_failed"]),
        }
    )


def _metrics(said: Sequence[str]) -> tuple[str, ...]:
    """Return the metrics one by one: `hit,recall` is two, `precision,denominator=retrieved` one."""
    parts = [part for text in said for part in re.split(r",(?!\s*\w+=)|\s+", text)]
    return tuple(part for part in parts if part)


def _judge(given: Given) -> str:
    """Return the judge's name; `--model NAME` means `openai:NAME`."""
    model = given["model"]
    if model is not None and ":" not in model:
        model = f"openai:{model}"
    judge = _one("--judge", given["judge"], "--model", model) or "offline"
    get_judge(judge)
    if given["embedding_model"] is not None:
        raise UsageError(
            f"--embedding-model {given['embedding_model']}: embeddings are for response_relevancy, "
            "which needs an LLM judge, and this version has none; leave it out"
        )
    return judge


def _columns(said: Sequence[str]) -> dict[str, str]:
    columns: dict[str, str] = {}
    for text in said:
        field, equals, column = text.partition("=")
        if not equals or not field.strip() or not column.strip():
            raise UsageError(f"--map {text}: write FIELD=COLUMN, such as query=Frage")
        columns[field.strip()] = column.strip()
    return columns


def data_of(given: Given) -> str | Path:
    """Return the data set's file; the sample data set where none is named."""
    named = _one("DATA", given["data"], "--test-data", given["test_data"])
    if named is not None:
        return named
    here = Path(DATASET.name)
    if here.exists():
        return here
    click.echo(f"No DATA named: using the sample data set of ragstone, {DATASET.name}.", err=True)
    return DATASET


def _one(first: str, one: str | None, second: str, other: str | None) -> str | None:
    """Return whichever of two options that say the same is given."""
    if one is not None and other is not None and one != other:
        raise UsageError(f"{first} {one} and {second} {other} say two things; leave one out")
    return other if one is None else one
