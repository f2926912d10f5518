"""Config: what a `ragstone.yaml` says, checked whole before anything of it is used."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import cast

from pydantic import ValidationError

from ragstone._internal.plugins import FILES
from ragstone._internal.yaml import Value, YamlValue, read_yaml_values
from ragstone.errors import InputError, Problem, UsageError, nearest
from ragstone.judges.spec import split_names
from ragstone.types.config import NUMBERS_OR_NONE, Plan
from ragstone.types.gate import FLAGS, Gate, Of, Op, share
from ragstone.types.policy import POLICIES, PRESETS, preset

FILE = Path("ragstone.yaml")
"""What the command line looks for in the working folder."""

OTHER_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "metric": "metrics",
        "model": "judge",
        "api_url": "target",
        "map": "columns",
        "max_retries": "retries",
        "threshold": "min_similarity",
    }
)
"""What the flags call it -> the plan's field."""

KEYS = (
    *(name for name in Plan.model_fields if name not in ("gates", "fallback_target")),
    *OTHER_WORDS,
    *(*FLAGS, "preset", "data", "plugin", "store"),
)
"""Every key that a file may have."""

_NOTHING: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True)
class Config:
    """What a file says.

    Attributes:
        settings: fields of the plan -> their values.
        preset: fills what nothing else says.
        data: the data set's file.
        plugins: modules with metrics of one's own.
        store: where the command line keeps runs.
    """

    settings: Mapping[str, object] = field(default_factory=lambda: _NOTHING)
    preset: str | None = None
    data: str | None = None
    plugins: tuple[str, ...] = ()
    store: str | None = None

    def plan(
        self, said: Mapping[str, object] = _NOTHING, *, preset_said: str | None = None
    ) -> Plan:
        """Return the plan: what is `said` goes before a preset that is, that before the file.

        The file's own preset, unless another is said, fills what nothing else says. Columns,
        prompts and gates are joined name by name.

        Raises:
            UsageError: a value is out of its range, or no preset has that name.
        """
        named = preset(preset_said) if preset_said else _NOTHING
        filling = preset(self.preset) if self.preset and not preset_said else _NOTHING
        joined = {**filling, **self.settings, **named, **said}
        for names in ("columns", "prompts"):
            joined[names] = {**_names(self.settings, names), **_names(said, names)}
        ours = _gates(said)
        replaced = {gate.demand for gate in ours}
        kept = (gate for gate in _gates(self.settings) if gate.demand not in replaced)
        return Plan.of({**joined, "gates": (*kept, *ours)})


def _names(settings: Mapping[str, object], name: str) -> Mapping[str, str]:
    return cast("Mapping[str, str]", settings.get(name, {}))


def _gates(settings: Mapping[str, object]) -> Sequence[Gate]:
    return cast("Sequence[Gate]", settings.get("gates", ()))


def metric_names(said: Sequence[str]) -> tuple[str, ...]:
    """Return the metrics one by one: `hit,recall` is two, `precision,denominator=retrieved` one."""
    parts = [part for text in said for part in re.split(r",(?!\s*\w+=)|\s+", text)]
    return tuple(part for part in parts if part)


def model_names(said: str) -> str:
    """Return a model, or several with commas, as `provider:model`; the provider is openai."""
    names = split_names(said)
    return ",".join(name if ":" in name else f"openai:{name}" for name in names)


def read_config(path: str | Path) -> Config:
    """Read a file; an empty one says nothing.

    The files that it names (data, prompts, plugins, a target's YAML or Python) stand beside it.

    Raises:
        UsageError: it cannot be read.
        InputError: it says something wrong; all problems at once.
    """
    path = Path(path)
    problems: list[Problem] = []
    firsts: dict[str, YamlValue] = {}
    values: dict[str, object] = {}
    for entry in read_yaml_values(path):
        if isinstance(entry, Problem):
            problems.append(entry)
            continue
        what = OTHER_WORDS.get(entry.key, entry.key)
        first = firsts.setdefault(what, entry)
        if entry.key not in KEYS:
            problems.append(_unknown(entry))
        elif first is not entry:
            seen = "stands" if first.key == entry.key else f"is said by {first.key}"
            seen = f"{entry.key} {seen} in row {first.row} already"
            problems.append(Problem(seen, "leave one out", row=entry.row))
        else:
            try:
                values[what] = _value(entry, path.parent)
            except ValueError as error:
                problems.append(Problem(f"{entry}: {error}", row=entry.row))
    if problems:
        raise InputError(str(path), problems)
    return _config(values)


def _unknown(entry: YamlValue) -> Problem:
    near = nearest(entry.key, KEYS)
    fix = f"did you mean {near!r}?" if near else f"there are: {', '.join(KEYS)}"
    if entry.key.lower().endswith(("key", "token")):
        fix = "keys come from the environment only, such as OPENAI_API_KEY"
    return Problem(f"there is no setting {entry.key!r:.80}", fix, row=entry.row)


def _config(values: Mapping[str, object]) -> Config:
    gates = [gate for name in FLAGS for gate in cast("tuple[Gate, ...]", values.get(name, ()))]
    settings = {name: value for name, value in values.items() if name in Plan.model_fields}
    return Config(
        settings=MappingProxyType(settings | ({"gates": tuple(gates)} if gates else {})),
        preset=cast("str | None", values.get("preset")),
        data=cast("str | None", values.get("data")),
        plugins=cast("tuple[str, ...]", values.get("plugin", ())),
        store=cast("str | None", values.get("store")),
    )


def _value(entry: YamlValue, folder: Path) -> object:
    said = entry.value
    name = OTHER_WORDS.get(entry.key, entry.key)
    read = _READ.get(entry.key) or _READ.get(name)
    value = read(said, folder) if read else said
    if name in NUMBERS_OR_NONE and isinstance(value, str) and value.lower() == "none":
        value = None
    if name not in Plan.model_fields:
        return value
    try:
        return getattr(Plan.model_validate({name: value}), name)
    except ValidationError as error:  # its own text quotes the value, which may be a secret
        raise ValueError("; ".join(fault["msg"] for fault in error.errors())) from None


def _one(said: Value) -> str:
    if not isinstance(said, str):
        raise ValueError("one value belongs here")
    return said


def _several(said: Value) -> list[str]:
    if isinstance(said, dict) or said is None:
        raise ValueError("one value or a list belongs here")
    return [said] if isinstance(said, str) else said


def _named(said: Value) -> dict[str, str]:
    if not isinstance(said, dict):
        raise ValueError("`name: value` lines belong here")
    return said


def _target(said: Value, folder: Path) -> str:
    name = _one(said)
    file = "://" not in name and re.search(r"\.ya?ml$|\.py:\w+$", name, re.IGNORECASE)
    return str(folder / name) if file else name


def _share(text: str, what: str = "this") -> float:
    try:
        return share(text)
    except UsageError:  # as above
        raise ValueError(f"{what} is no number; write 0.8 or 80%") from None


def _gates_of(op: Op, of: Of) -> Callable[[Value, Path], object]:
    def read(said: Value, folder: Path) -> object:
        del folder
        return tuple(
            Gate(metric=name, op=op, of=of, threshold=_share(mark, f"the mark of {name}"))
            for name, mark in _named(said).items()
        )

    return read


def _known(names: Mapping[str, object]) -> Callable[[Value, Path], object]:
    def read(said: Value, folder: Path) -> object:
        del folder
        if (name := _one(said)) in names:
            return name
        near = nearest(name, names)
        hint = f"did you mean {near!r}?" if near else f"known: {', '.join(names)}"
        raise ValueError(f"there is none of that name; {hint}")

    return read


_READ: Mapping[str, Callable[[Value, Path], object]] = MappingProxyType(
    {
        "metrics": lambda said, _: metric_names(_several(said)),
        "k": lambda said, _: ",".join(_several(said)),
        "model": lambda said, _: model_names(_one(said)),
        "embedding_model": lambda said, _: model_names(_one(said)),
        "target": _target,
        "prompts": lambda said, folder: {
            kind: str(folder / file) for kind, file in _named(said).items()
        },
        "max_failure_rate": lambda said, _: _share(_one(said)),
        **{name: _gates_of(*demand) for name, demand in FLAGS.items()},
        "policy": _known(POLICIES),
        "preset": _known(PRESETS),
        "data": lambda said, folder: str(folder / _one(said)),
        "store": lambda said, folder: said if "://" in _one(said) else str(folder / _one(said)),
        "plugin": lambda said, folder: tuple(
            str(folder / name) if name.lower().endswith(FILES) else name for name in _several(said)
        ),
    }
)
"""Key, or field of the plan -> how its value is read; any other stands as it is."""
