"""Config: a `ragstone.yaml`, checked as a whole before any of it is used."""

import re
from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import cast

from pydantic import ValidationError

from ragstone._internal.plugins import FILES
from ragstone._internal.yaml import YamlValue, read_yaml_values
from ragstone.errors import InputError, Problem, UnknownNameError, nearest
from ragstone.judges.spec import split_names
from ragstone.types.config import SETTINGS, Plan, Settings
from ragstone.types.gate import FLAGS, Gate
from ragstone.types.policy import POLICIES, PRESETS, preset

FILE = Path("ragstone.yaml")
"""What the command line looks for in the working folder."""
Names = Mapping[str, str]
_TEXTS = ("data", "store", "target", "preset", "policy", "judge", "embedding_model")
_TARGET_FILE = re.compile(r"\.ya?ml$|\.py:\w+$", re.IGNORECASE)

OTHER_KEYS: Mapping[str, str] = MappingProxyType(
    {key: name for name, setting in SETTINGS.items() for key in setting.keys}
)
"""Other names for a setting -> its field."""
KEYS = (*SETTINGS, *OTHER_KEYS)
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
        """Return the plan: `said` overrides the preset `preset_said`, and that overrides the file.

        The file's own preset, unless `preset_said` replaces it, fills what nothing else sets.
        Columns, prompts and gates are joined name by name.

        Raises:
            UsageError: a value is out of its range, or no preset has that name.
        """
        named = preset(preset_said) if preset_said else _NOTHING
        filling = preset(self.preset) if self.preset and not preset_said else _NOTHING
        joined = {**filling, **self.settings, **named, **said}
        for name in ("columns", "prompts"):
            both = (settings.get(name, {}) for settings in (self.settings, said))
            joined[name] = dict(ChainMap(*reversed([dict(cast("Names", each)) for each in both])))
        ours = cast("Sequence[Gate]", said.get("gates", ()))
        replaced = {gate.demand for gate in ours}
        theirs = cast("Sequence[Gate]", self.settings.get("gates", ()))
        kept = (gate for gate in theirs if gate.demand not in replaced)
        return Plan.of({**joined, "gates": (*kept, *ours)})


def metric_names(said: Sequence[str]) -> tuple[str, ...]:
    """Return the metrics one by one: `hit,recall` is two, `precision,denominator=retrieved` one."""
    parts = [part for text in said for part in re.split(r",(?!\s*\w+=)|\s+", text)]
    return tuple(part for part in parts if part)


def model_names(said: str) -> str:
    """Return a model, or several with commas, as `provider:model`; the provider is openai."""
    names = split_names(said)
    return ",".join(name if ":" in name else f"openai:{name}" for name in names)


def read_config(path: str | Path) -> Config:
    """Read a config file. Paths in it (data, prompts, plugins, target) start at its folder.

    Raises:
        UsageError: it cannot be read.
        InputError: it has problems; all of them are listed.
    """
    path = Path(path)
    problems: list[Problem] = []
    firsts: dict[str, YamlValue] = {}
    values: dict[str, object] = {}
    for entry in read_yaml_values(path):
        if isinstance(entry, Problem):
            problems.append(entry)
            continue
        name = OTHER_KEYS.get(entry.key, entry.key)
        first = firsts.setdefault(name, entry)
        if entry.key not in KEYS:
            near = nearest(entry.key, KEYS)
            fix = f"did you mean {near!r}?" if near else f"known settings: {', '.join(KEYS)}"
            if entry.key.lower().endswith(("key", "token")):
                fix = "set API keys in the environment only, such as OPENAI_API_KEY"
            problems.append(Problem(f"unknown setting {entry.key!r:.80}", fix, row=entry.row))
        elif first is not entry:
            seen = "" if first.key == entry.key else f", as {first.key}"
            text = f"{entry.key} is already set in row {first.row}{seen}"
            problems.append(Problem(text, "remove one", row=entry.row))
        else:
            try:
                values[name] = _value(name, entry, path.parent)
            except ValueError as error:
                problems.append(Problem(f"{entry}: {error}", row=entry.row))
    if problems:
        raise InputError(str(path), problems)
    gates = tuple(gate for name in FLAGS for gate in cast("Sequence[Gate]", values.get(name, ())))
    settings = {name: value for name, value in values.items() if name in Plan.model_fields}
    return Config(
        settings=MappingProxyType(settings | ({"gates": gates} if gates else {})),
        preset=cast("str | None", values.get("preset")),
        data=cast("str | None", values.get("data")),
        plugins=cast("tuple[str, ...]", values.get("plugin", ())),
        store=cast("str | None", values.get("store")),
    )


def _value(name: str, entry: YamlValue, folder: Path) -> object:
    """Return the value of a setting; its paths start at the folder.

    Raises:
        ValueError: it is not a value of this setting. The text does not quote it: it may be a
            secret.
    """
    value: object = entry.value
    if name in ("metrics", "plugin"):
        if isinstance(value, dict) or value is None:
            raise ValueError("expected one value or a list")
        several = [value] if isinstance(value, str) else value
        value = metric_names(several) if name == "metrics" else several
    elif name in ("columns", "prompts", *FLAGS):
        if not isinstance(value, dict):
            raise ValueError("expected lines of `name: value`")
    elif name in _TEXTS and not isinstance(value, str):
        raise ValueError("expected one value")
    if entry.key in ("model", "embedding_model") and isinstance(value, str):
        value = model_names(value)
    try:
        value = getattr(Settings.model_validate({name: value}), name)
    except ValidationError as error:  # its own text quotes the value
        faults = [": ".join([*map(str, each["loc"][1:]), each["msg"]]) for each in error.errors()]
        raise ValueError("; ".join(faults)) from None
    except UnknownNameError:
        known = POLICIES if name == "policy" else PRESETS
        near = nearest(str(value), known)
        fix = f"did you mean {near!r}?" if near else f"known: {', '.join(known)}"
        raise ValueError(f"unknown {name}; {fix}") from None
    return _placed(name, value, folder) if value is not None else None


def _placed(name: str, value: object, folder: Path) -> object:
    """Return the value with its paths starting at the folder, and gates in place of shares."""
    match name, value:
        case ("data", str()):
            return str(folder / value)
        case ("store", str()) if "://" not in value:
            return str(folder / value)
        case ("target", str()) if "://" not in value and _TARGET_FILE.search(value):
            return str(folder / value)
        case ("prompts", Mapping()):
            return {kind: str(folder / str(file)) for kind, file in cast("Names", value).items()}
        case ("plugin", tuple()):
            names = cast("tuple[str, ...]", value)
            return tuple(
                str(folder / each) if each.lower().endswith(FILES) else each for each in names
            )
        case (("fail_under" | "fail_over" | "min_coverage"), Mapping()):
            op, of = FLAGS[name]
            limits = cast("Mapping[str, float]", value).items()
            return tuple(
                Gate(metric=metric, op=op, of=of, threshold=limit) for metric, limit in limits
            )
        case _:
            return value
