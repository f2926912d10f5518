"""Config: the settings of a `ragstone.yaml`, which is validated as a whole."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError

from ragstone._internal.fields import metric_name
from ragstone._internal.files import write_text
from ragstone._internal.plugins import FILES
from ragstone._internal.secrets import VARIABLE
from ragstone._internal.text import describe_fault
from ragstone.errors import InputError, Problem, UnknownNameError, UsageError, nearest, other_name
from ragstone.judges.spec import split_names
from ragstone.types.config import SETTINGS, Plan, Settings
from ragstone.types.gate import FLAGS, Gate
from ragstone.types.policy import POLICIES, PRESETS, preset

if TYPE_CHECKING:
    from ragstone._internal.yaml import YamlValue

FILE = Path("ragstone.yaml")
Values = Mapping[str, object]
_TEXTS = "data store reply_cache target preset policy judge embedding_model".split()
_JUDGE = r"(?m)^(?:judge|model): *[^\s>|#].*$"  # a line that can be replaced
_TARGET_FILE = re.compile(r"\.(ya?ml|json)$|\.py:\w+$", re.IGNORECASE)

OTHER_KEYS: Mapping[str, str] = {
    key: name for name, setting in SETTINGS.items() for key in setting.keys
}
KEYS = (*SETTINGS, *OTHER_KEYS)
NAMED = ("columns", "prompts", "judge_headers", "judge_body")  # settings that map names
_NOTHING: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True)
class Config:
    settings: Mapping[str, object] = field(default_factory=lambda: _NOTHING)  # of the plan
    preset: str | None = None
    data: str | None = None
    plugins: tuple[str, ...] = ()
    store: str | None = None
    variables: tuple[str, ...] = ()  # of the environment, in any of the settings

    def plan(
        self, options: Mapping[str, object] = _NOTHING, *, preset_name: str | None = None
    ) -> Plan:
        """Return the plan: `options` override the named preset, and that overrides the file.

        The file's preset only sets fields that nothing else sets; columns, prompts and gates are
        merged by name.
        """
        override = preset(preset_name) if preset_name else _NOTHING
        base = preset(self.preset) if self.preset and not preset_name else _NOTHING
        merged = {**base, **self.settings, **override, **options}
        for name in NAMED:
            mappings = [cast("Values", each.get(name, {})) for each in (self.settings, options)]
            merged[name] = {**mappings[0], **mappings[1]}
        gates = cast("Sequence[Gate]", options.get("gates", ()))
        replaced = {gate.demand for gate in gates}
        file_gates = cast("Sequence[Gate]", self.settings.get("gates", ()))
        others = (gate for gate in file_gates if gate.demand not in replaced)
        return Plan.of({**merged, "gates": (*others, *gates)})


def settings_of(values: Mapping[str, object]) -> dict[str, object]:
    fields: dict[str, object] = {}
    for key, value in values.items():
        name = OTHER_KEYS.get(key, key)
        if key in KEYS and name not in Plan.model_fields:
            raise UsageError(f"{key} cannot be set in this way; it has an argument of its own")
        if name not in Plan.model_fields:
            raise UnknownNameError("setting", key, [each for each in KEYS if each in SETTINGS])
        if name in fields:
            raise UsageError(f"{key} is set twice, also by another name; remove one")
        if name == "metrics" and isinstance(value, str):
            value = metric_names([value])
        is_model = key in ("model", "embedding_model") and isinstance(value, str)
        fields[name] = model_names(str(value)) if is_model else value
    return fields


def metric_names(texts: Sequence[str]) -> tuple[str, ...]:
    parts = [part for text in texts for part in re.split(r",(?!\s*\w+=)|\s+", text)]
    return tuple(metric_name(part) for part in parts if part)


def model_names(text: str) -> str:
    names = split_names(text)
    return ",".join(name if ":" in name else f"openai:{name}" for name in names)


def read_config(path: str | Path) -> Config:
    from ragstone._internal.yaml import read_yaml_values

    path = Path(path)
    problems: list[Problem] = []
    firsts: dict[str, YamlValue] = {}
    values: dict[str, Any] = {}
    for entry in read_yaml_values(path):
        if isinstance(entry, Problem):
            problems.append(entry)
            continue
        name = OTHER_KEYS.get(entry.key, entry.key)
        first = firsts.setdefault(name, entry)
        seen = fix = ""
        if entry.key not in KEYS:
            seen, near = f"unknown setting {entry.key!r:.80}", nearest(entry.key, KEYS)
            fix = f"did you mean {near!r}?" if near else f"known settings: {', '.join(KEYS)}"
            fix = other_name("setting", entry.key) or fix
            if entry.key.lower().endswith(("key", "token")):
                fix = "set API keys in the environment only, such as OPENAI_API_KEY"
        elif first is not entry:
            alias = "" if first.key == entry.key else f", as {first.key}"
            seen, fix = f"{entry.key} is already set on line {first.row}{alias}", "remove one"
        else:
            try:
                values[name] = _value(name, entry, path.parent)
            except ValueError as error:
                seen = f"{entry}: {error}"
        if seen:
            problems.append(Problem(seen, fix, row=entry.row, unit="line"))
    if problems:
        raise InputError(str(path), problems)
    gates: tuple[Gate, ...] = tuple(gate for name in FLAGS for gate in values.get(name, ()))
    settings = {name: value for name, value in values.items() if name in Plan.model_fields}
    written = [entry.written for entry in firsts.values()]
    return Config(
        settings=MappingProxyType(settings | ({"gates": gates} if gates else {})),
        plugins=values.get("plugin", ()),
        variables=tuple(VARIABLE.findall(repr([written, values.get("judge_body")]))),
        **{name: values.get(name) for name in ("preset", "data", "store")},
    )


def set_judge(name: str) -> None:
    """Set the judge in the FILE of this folder; its other lines keep their places."""
    text, line = "", f"judge: {json.dumps(name)}"
    if FILE.exists():
        text = FILE.read_text("utf-8").rstrip("\n") + "\n"
        if "judge" in read_config(FILE).settings and not re.search(_JUDGE, text):
            raise UsageError(f"{FILE} sets the judge in another form; write {line} there")
    for old in (_JUDGE, r"(?m)^#judge:.*$", r"\Z"):
        text, replaced = re.subn(old, lambda _: line, text, count=1)
        if replaced:
            break
    write_text(FILE, text if text.endswith("\n") else f"{text}\n")


def _value(name: str, entry: "YamlValue", folder: Path) -> object:
    """Return the value of a setting; a ValueError does not quote it, because it may be a secret."""
    value: object = entry.value
    if name in ("metrics", "plugin"):
        if isinstance(value, dict) or value is None:
            raise ValueError("expected one value or a list")
        several = [value] if isinstance(value, str) else value
        value = metric_names(several) if name == "metrics" else several
    elif name in (*NAMED, *FLAGS):
        if not isinstance(value, dict):
            raise ValueError("expected lines of `name: value`")
        if name == "judge_body":
            value = {key: _json_or_text(text) for key, text in value.items()}
    elif name in _TEXTS and not isinstance(value, str):
        raise ValueError("expected one value")
    if entry.key in ("model", "embedding_model") and isinstance(value, str):
        value = model_names(value)
    try:
        value = getattr(Settings.model_validate({name: value}), name)
    except ValidationError as error:  # its own message quotes the value
        faults = [
            ": ".join([*map(str, each["loc"][1:]), describe_fault(each)]) for each in error.errors()
        ]
        raise ValueError("; ".join(faults)) from None
    except UnknownNameError:
        known = POLICIES if name == "policy" else PRESETS
        near = nearest(str(value), known)
        fix = f"did you mean {near!r}?" if near else f"known: {', '.join(known)}"
        raise ValueError(f"unknown {name}; {fix}") from None
    return _resolve(name, value, folder) if value is not None else None


def _json_or_text(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _resolve(name: str, value: Any, folder: Path) -> object:
    if name == "data" or (name in ("store", "reply_cache") and "://" not in value):
        return str(folder / value)
    if name == "target" and "://" not in value and _TARGET_FILE.search(value):
        return str(folder / value)
    if name == "prompts":
        return {kind: str(folder / file) for kind, file in value.items()}
    if name == "plugin":
        return tuple(str(folder / each) if each.lower().endswith(FILES) else each for each in value)
    if name in FLAGS:
        op, of = FLAGS[name]
        limits = value.items()
        return tuple(Gate(metric=name, op=op, of=of, threshold=limit) for name, limit in limits)
    return value
