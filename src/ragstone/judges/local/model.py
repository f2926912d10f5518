"""A local model: its options and files, and what its outputs mean for a pair of texts."""

import json
import os
import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import file_digest
from importlib import import_module
from mmap import ACCESS_READ, mmap
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ragstone._internal.concurrency import Batches, in_thread
from ragstone._internal.fields import is_object
from ragstone._internal.text import count, quoted
from ragstone.errors import Cause, JudgeError, UsageError
from ragstone.judges.spec import JudgeOptions
from ragstone.types.claim import Label

VERSION = 2  # the version of windows and results; a change invalidates cached replies
BATCH = 16
MAX_LENGTH = 512  # tokens of a pair unless `length` is set, because cost grows with length
TEMPLATE = "ask.txt"  # the file in a model's folder that is its template unless `template` is set


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # a container may have fewer than the machine
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class LocalSettings(JudgeOptions):
    """The options of a local model; docs/local-models.md explains them."""

    judge: ClassVar[str] = "a local judge"
    speed: ClassVar[frozenset[str]] = frozenset({"batch", "threads", "device"})

    labels: str | None = None
    threshold: Annotated[float, Field(gt=0, lt=1)] = 0.5
    head: Literal["pair", "first", "tokens"] | None = None
    output: str = "logits"
    probabilities: bool = False
    template: str | None = None
    file: str | None = None
    length: Annotated[int, Field(ge=16)] | None = None  # tokens of a window and a claim together
    join: bool = False  # share windows: a claim may rest on two contexts, and their order counts
    batch: Annotated[int, Field(ge=1)] | None = None  # None: 16, or 1 if pairs affect each other
    threads: Annotated[int, Field(ge=1)] = Field(default_factory=_cores)
    device: Literal["cpu", "cuda"] = "cpu"


def library(
    package: Literal["onnxruntime", "tokenizers", "huggingface_hub"], name: str
) -> ModuleType:
    try:
        return import_module(package)
    except ImportError as error:
        raise UsageError(
            f"the judge local:{name} needs an extra: pip install 'ragstone[local]'"
        ) from error


HUB = "hf:"  # the beginning of the name of a hub model; any other name is a folder
ONNX = ("model.onnx", "onnx/model.onnx")
TOKENIZER, CONFIG, TOKENIZER_CONFIG = "tokenizer.json", "config.json", "tokenizer_config.json"
_WEIGHTS = (".safetensors", ".bin", ".pt")
_POINTER = b"version https://git-lfs.github.com/spec/"  # a file that git-LFS has not downloaded
_SCALING = (b"DynamicQuantizeLinear", b"DynamicQuantizeMatMul", b"DynamicQuantizeLSTM")
"""Operators whose scale depends on all of their input; the file contains their names."""
_LOCATION = re.compile(rb"\x0a\x08location\x12([\x01-\x7f]|[\x80-\xff][\x01-\x7f])")
"""What precedes the name of a file with weights: protobuf's key, tag and length."""
_HUB_NAME = re.compile(r"(?P<name>[\w-][\w.-]*/[\w-][\w.-]*)(?:@(?P<revision>[\w./-]+))?")


class ModelNotDownloadedError(UsageError):
    """A hub model is not on this machine, and `download` is False."""


@dataclass(frozen=True)
class ModelFiles:
    folder: Path
    onnx: Path

    @classmethod
    def find(cls, name: str, *, file: str | None = None, download: bool = True) -> "ModelFiles":
        """Find a folder, or a hub model `hf:owner/name`, downloaded once."""
        needed = f"{ONNX[0]}, {TOKENIZER} and {CONFIG}"
        if not name.strip():
            raise UsageError(
                f"judge local:{name}: specify a model: a folder with {needed}, or {HUB}owner/name"
            )
        if name.startswith(HUB):
            folder = _hub_folder(name.removeprefix(HUB), file, download=download)
        else:
            folder = Path(name).expanduser()
            if not folder.is_dir():
                is_hub = _HUB_NAME.fullmatch(name)
                hint = f"; for the Hugging Face hub use local:{HUB}{name}" if is_hub else ""
                raise UsageError(
                    f"local:{name}: there is no folder {folder}; pass one with {needed}{hint}"
                )
        onnx = _find_onnx(folder, file)
        if onnx is None:
            missing = f"local:{folder}: there is no {file or ' or '.join(ONNX)}"
            raise UsageError(f"{missing}; {_alternative(folder)}")
        if not onnx.stat().st_size:
            raise UsageError(
                f"local:{folder}: {onnx.relative_to(folder)} is empty: export it again"
            )
        if not (folder / TOKENIZER).is_file():
            raise UsageError(
                f"local:{folder}: there is no {TOKENIZER}. To write it with transformers: "
                'AutoTokenizer.from_pretrained("NAME").save_pretrained("FOLDER")'
            )
        for path in filter(Path.is_file, (onnx, folder / TOKENIZER, folder / CONFIG)):
            with path.open("rb") as opened:
                if opened.read(len(_POINTER)) == _POINTER:
                    raise UsageError(
                        f"local:{folder}: {path.relative_to(folder)} is a git-LFS pointer instead "
                        "of the file itself: run `git lfs pull` in its repository"
                    )
        return cls(folder, onnx)

    @cached_property
    def config(self) -> Mapping[str, object] | None:
        return _read(self.folder / CONFIG)

    @property
    def max_length(self) -> int | None:
        config, more = self.config or {}, _read(self.folder / TOKENIZER_CONFIG) or {}
        positions = config.get("max_position_embeddings")
        if isinstance(positions, int) and "roberta" in str(config.get("model_type")):
            positions -= 2  # its first two positions are for padding
        limits = (positions, more.get("model_max_length"))
        known = [limit for limit in limits if isinstance(limit, int) and 0 < limit < 1_000_000]
        return min(known, default=None)

    @cached_property
    def has_dynamic_scales(self) -> bool:
        with _mapped(self.onnx) as content:
            return any(content.find(name) >= 0 for name in _SCALING)

    @cached_property
    def fingerprint(self) -> str:
        beside = sorted(self.onnx.parent.glob(f"{self.onnx.name}?data*"))
        files = {path.name: path for path in (self.onnx, *beside)}
        files |= {name: self.folder / name for name in (TOKENIZER, CONFIG)}
        files |= {name: self.onnx.parent / name for name in self.weight_files()}
        digests: list[str] = []
        for name, path in files.items():
            if path.is_file():
                with path.open("rb") as opened:
                    digests.append(f"{name} {file_digest(opened, 'sha256').hexdigest()}")
        return "\n".join(digests)

    def weight_files(self) -> list[str]:
        found = set[str]()
        with _mapped(self.onnx) as content:
            for place in _LOCATION.finditer(content):
                low, high = place[1][0], place[1][1] if place[1][1:] else 0
                size = low & 127 | high << 7
                found.add(content[place.end() : place.end() + size].decode("utf-8", "replace"))
        return sorted(found)


def _hub_folder(name: str, file: str | None, *, download: bool) -> Path:
    found = _HUB_NAME.fullmatch(name)
    if found is None:
        raise UsageError(
            f"local:{HUB}{name}: a model of the Hugging Face hub is named {HUB}owner/name, or "
            f"{HUB}owner/name@revision"
        )
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # read when the library is loaded
    hub = library("huggingface_hub", f"{HUB}{found['name']}")
    models = [file] if file else ONNX
    patterns = ["*.json", "*.txt", *models, *(f"{each}?data*" for each in models)]

    def snapshot(*more: str, cached: bool = False) -> Path:
        wanted = {"allow_patterns": [*patterns, *more], "revision": found["revision"]}
        return Path(hub.snapshot_download(found["name"], local_files_only=cached, **wanted))

    try:
        folder = snapshot(cached=True)
        missing = _missing_files(folder, file)
        if not missing:
            return folder
    except (OSError, ValueError):
        missing = ["some or all files"]
    lacking = f"the hub's cache on this machine is missing {', '.join(missing)}"
    problem = f"local:{HUB}{found['name']}: {lacking}"
    if hub.constants.HF_HUB_OFFLINE:
        raise UsageError(f"{problem}, and HF_HUB_OFFLINE does not allow downloading it")
    if not download:
        raise ModelNotDownloadedError(problem)
    try:
        folder = snapshot()
        more = _missing_files(folder, file)  # only the model names its weight files
        return snapshot(*more) if more else folder
    except (OSError, ValueError) as error:
        raise UsageError(f"{problem}, and the download failed: {quoted(str(error))}") from error


def _missing_files(folder: Path, file: str | None) -> list[str]:
    missing = [name for name in (TOKENIZER, CONFIG) if not (folder / name).is_file()]
    onnx = _find_onnx(folder, file)
    if onnx is None:
        return [*missing, file or " or ".join(ONNX)]
    weights = [onnx.parent / each for each in ModelFiles(folder, onnx).weight_files()]
    return [*missing, *(p.relative_to(folder).as_posix() for p in weights if not p.is_file())]


def _find_onnx(folder: Path, file: str | None) -> Path | None:
    paths = (folder / each for each in ([file] if file else ONNX))
    return next((path for path in paths if path.is_file()), None)


def _alternative(folder: Path) -> str:
    if others := sorted(str(each.relative_to(folder)) for each in folder.rglob("*.onnx")):
        return f"it has {', '.join(others)}: name one with file="
    weights = sorted(each.name for suffix in _WEIGHTS for each in folder.glob(f"*{suffix}"))
    has = f"it has {', '.join(weights)}, which is not ONNX" if weights else "it has no .onnx file"
    name = folder if weights else "NAME"
    return f"{has}. To make one: optimum-cli export onnx --model {name} ANOTHER_FOLDER"


def _read(path: Path) -> Mapping[str, object] | None:
    if not path.is_file():
        return None
    try:
        found: object = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageError(f"{path} is invalid JSON: {error}") from error
    if not is_object(found):
        raise UsageError(f"{path} is not a JSON object")
    return found


@contextmanager
def _mapped(path: Path) -> Generator[mmap, None, None]:
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        yield content


Token: TypeAlias = tuple[int, int, int]  # its number among all tokens; its characters in the claim


class Pair(NamedTuple):
    ids: tuple[int, ...]
    types: tuple[int, ...]
    claim: tuple[Token, ...]


Shape: TypeAlias = Literal["pair", "first", "tokens"]  # results: per pair, of token 1, per token
Logits: TypeAlias = NDArray[np.float32]
Probabilities: TypeAlias = NDArray[np.float64]

_WORDS: Mapping[Label, str] = {
    Label.SUPPORTED: "supported support supports entailment entailed entails entail consistent "
    "faithful factual grounded attributable aligned nothallucinated nothallucination true yes",
    Label.CONTRADICTED: "contradicted contradiction contradicts contradict contradictory refuted "
    "refutes refute",
    Label.NOT_ENOUGH_INFO: "neutral notenoughinfo notenoughinformation nei unknown unsupported "
    "notsupported notentailment nonentailment notentailed inconsistent hallucinated hallucination "
    "unfaithful nonfactual notfactual ungrounded baseless false no",
}
_LABELS = {word: label for label, words in _WORDS.items() for word in words.split()}


@dataclass(frozen=True)
class Head:
    """The meaning of a model's outputs: their labels, and whether they are logits."""

    labels: tuple[Label, ...]
    shape: Shape | None = None  # None if the shape of the output decides
    is_probability: bool = False

    @classmethod
    def of(cls, config: Mapping[str, object] | None, settings: LocalSettings, name: str) -> "Head":
        by_id = (config or {}).get("id2label")
        names: list[str] = []
        if settings.labels:
            names = settings.labels.split("/")
        elif is_object(by_id):
            names = [str(by_id[key]) for key in sorted(filter(str.isdecimal, by_id), key=int)]
        words = [re.sub(r"[\W_]+", "", each).lower() for each in names]
        labels = tuple(_LABELS[word] for word in words if word in _LABELS)
        can_tell = len(labels) == 1 or (Label.SUPPORTED in labels and len({*labels}) > 1)
        if len(labels) == len(words) and can_tell:
            return cls(labels, settings.head, settings.probabilities)
        found = f"its labels are {', '.join(names)}" if names else "it names no labels"
        if config is None:
            found = "there is no config.json, which would name its labels"
        raise UsageError(
            f"local:{name}: the meaning of the model's outputs is unknown: {found}. Set labels= in "
            "their order: labels=unsupported/supported, labels=entailment/neutral/contradiction, "
            "or labels=supported for a model with one output. Known labels are: supported or "
            "entailment; contradiction or refuted; neutral, unsupported or hallucinated"
        )

    def check(self, shape: Sequence[int], name: str) -> "Head":
        found = self.shape or ("pair" if len(shape) == 2 else "tokens")
        if len(shape) != (2 if found == "pair" else 3):
            raise UsageError(
                f"local:{name}: the model's output has the shape {list(shape)}; supported shapes "
                "are [pairs, labels], and [pairs, tokens, labels] (head=tokens, or head=first)"
            )
        if shape[-1] != len(self.labels):
            raise UsageError(
                f"local:{name}: the model has {count(shape[-1], 'output')}, but "
                f"{count(len(self.labels), 'label')}; set labels= in the order of the outputs, "
                "such as labels=unsupported/supported"
            )
        return replace(self, shape=found)

    def probabilities(self, outputs: Logits) -> tuple[Probabilities, Probabilities]:
        wide = outputs.astype(np.float64)
        if len(self.labels) == 1:
            alone = wide[..., 0]
            if not self.is_probability:
                alone = 1 / (1 + np.exp(-np.clip(alone, -500, 500)))
            is_support = self.labels[0] is Label.SUPPORTED
            return (alone if is_support else 1 - alone), np.zeros_like(alone)
        if not self.is_probability:
            powers = np.exp(wide - wide.max(axis=-1, keepdims=True))
            wide = powers / powers.sum(axis=-1, keepdims=True)

        def total(label: Label) -> Probabilities:
            return wide[..., [each is label for each in self.labels]].sum(axis=-1)

        return total(Label.SUPPORTED), total(Label.CONTRADICTED)


GATHER_SECONDS = 0.002  # the first item of a batch waits for others; any model takes longer for one
INPUTS: tuple[str, ...] = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
ROUNDING = 1e-3  # how far rounding may push probabilities below 0 and above 1
_TYPES: Mapping[str, type[np.generic]] = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}


class PairScore(NamedTuple):
    """Two probabilities, and the characters of the claim whose tokens are unsupported."""

    supported: float
    contradicted: float
    flagged: tuple[tuple[int, int], ...] = ()


class LocalModel:
    """Judges pairs, with a template as one text. Entering it loads the model and tries it once."""

    def __init__(self, name: str, settings: LocalSettings, *, download: bool) -> None:
        self._files = files = ModelFiles.find(name, file=settings.file, download=download)
        self._name, self._settings = name, settings
        longest = files.max_length
        if settings.length and longest and settings.length > longest:
            raise self._error(
                f"the model takes at most {longest} tokens, not length={settings.length}"
            )
        self.length = settings.length or min(longest or MAX_LENGTH, MAX_LENGTH)
        path = files.folder / (settings.template or TEMPLATE)
        if settings.template and not path.is_file():
            raise self._error(f"there is no file {path} for template=")
        self._template = path.read_text(encoding="utf-8").rstrip("\n") if path.is_file() else None
        self._head = Head.of(files.config, settings, name)
        self._tokenizer = self._read_tokenizer(files.folder / TOKENIZER)
        known = map(self._tokenizer.token_to_id, ("[PAD]", "<pad>", "<|pad|>"))
        self._padding = next((number for number in known if number is not None), 0)
        self._session: Any = None
        self._min_size: Sequence[int] = (1, 1)  # pairs in a run, and tokens in a pair
        self._batch = settings.batch or (1 if files.has_dynamic_scales else BATCH)
        self._batches = Batches[Pair, PairScore | JudgeError](
            self._outcomes,
            size=self._batch,
            gather=GATHER_SECONDS,
            length=lambda pair: len(pair.ids),
        )

    @property
    def identity(self) -> list[object]:
        """What decides its answers, and those of a judge with these settings."""
        settings, files = self._settings, self._files
        identity = [files.fingerprint, settings.threshold, settings.head, self._head.labels]
        identity += [self._template, self.length, VERSION, settings.join, settings.output]
        return [*identity, settings.probabilities, *[self._batch] * files.has_dynamic_scales]

    def _error(self, why: object) -> UsageError:
        return UsageError(f"local:{self._name}: {why}")

    def _read_tokenizer(self, path: Path) -> Any:
        tokenizers = library("tokenizers", self._name)
        try:
            tokenizer = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # the library has no errors of its own
            raise self._error(f"{path} is not a tokenizer: {error}") from error
        places = ("{context}", "{claim}")
        if self._template is not None and [*map(self._template.count, places)] != [1, 1]:
            raise self._error("the template must have {context} and {claim}, once each")
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer

    def starts(self, text: str) -> list[int]:
        encoded = self._tokenizer.encode(text, add_special_tokens=False)
        return [start for start, _ in encoded.offsets]

    def pair(self, context: str, claim: str) -> Pair:
        if self._template is None:
            encoded = self._tokenizer.encode(context, claim)
            places = enumerate(zip(encoded.sequence_ids, encoded.offsets, strict=True))
            tokens = [(n, start, end) for n, (text, (start, end)) in places if text == 1]
        else:
            before, _, after = self._template.partition("{claim}")
            before, after = (part.replace("{context}", context) for part in (before, after))
            encoded = self._tokenizer.encode(f"{before}{claim}{after}")
            begin, end = len(before), len(before) + len(claim)
            tokens = [
                (n, max(0, start - begin), min(stop, end) - begin)
                for n, (start, stop) in enumerate(encoded.offsets)
                if start < end and stop > begin and stop > start
            ]
        return Pair(tuple(encoded.ids), tuple(encoded.type_ids), tuple(tokens))

    async def __aenter__(self) -> Self:
        await in_thread(self._load)
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._batches.close()
        self._session = None

    async def score(self, pairs: Sequence[Pair]) -> list[PairScore]:
        scores: list[PairScore] = []
        for outcome in await self._batches.results(pairs):
            if isinstance(outcome, JudgeError):
                raise JudgeError(outcome.cause, str(outcome))  # an error of its own per question
            scores.append(outcome)
        return scores

    def _load(self) -> None:
        self._session = session = self._open_session()
        inputs = session.get_inputs()
        names = [each.name for each in inputs]
        unknown = [name for name in names if name not in INPUTS]
        if unknown or INPUTS[0] not in names:
            raise self._error(
                f"the model expects the inputs {', '.join(unknown or names)}; supported are "
                f"{', '.join(INPUTS)}. Models that generate text do not work here"
            )
        batch, length = inputs[names.index(INPUTS[0])].shape
        # an axis that is not fixed has a name instead of a size
        self._min_size = tuple(size if isinstance(size, int) else 1 for size in (batch, length))
        exported = "the model was exported for"
        fix = "or export it with dynamic axes"
        if isinstance(length, int) and self.length > length:
            raise self._error(f"{exported} pairs of {length} tokens: set length={length}, {fix}")
        if isinstance(batch, int) and self._batch != batch:
            raise self._error(f"{exported} batches of {batch}: set batch={batch}, {fix}")
        outputs = [each.name for each in session.get_outputs()]
        if self._settings.output not in outputs:  # another output may have another scale
            raise self._error(
                f"the model has no output named {self._settings.output}; it has "
                f"{', '.join(outputs)}. Set output= to one of them, and probabilities=yes if it is "
                "probabilities (after a softmax or sigmoid) instead of logits"
            )
        try:
            logits = self._run([self.pair("A context.", "A claim.")])
        except JudgeError as error:
            raise self._error(error) from error
        self._head = self._head.check(logits.shape, self._name)
        is_outside = logits.min() < -ROUNDING or logits.max() > 1 + ROUNDING
        if self._head.is_probability and is_outside:
            raise self._error(
                f"probabilities=yes, but {self._settings.output} has values "
                f"from {logits.min():g} to {logits.max():g}: these are logits; remove the option"
            )

    def _open_session(self) -> Any:
        settings = self._settings
        runtime = library("onnxruntime", self._name)
        options: Any = runtime.SessionOptions()
        options.intra_op_num_threads = settings.threads
        options.log_severity_level = 3  # errors; they are raised as well
        provider = _PROVIDERS[settings.device]
        if provider not in runtime.get_available_providers():
            raise self._error(
                f"the installed onnxruntime does not support {settings.device}; install "
                "onnxruntime-gpu instead, or remove device="
            )
        try:
            session = runtime.InferenceSession(str(self._files.onnx), options, providers=[provider])
        except Exception as error:  # the library's errors have no common class
            raise self._error(f"the model cannot be loaded: {quoted(str(error))}") from error
        if provider not in session.get_providers():  # it falls back to the CPU by itself
            raise self._error(f"{settings.device} could not be started")
        return session

    def _outcomes(self, pairs: Sequence[Pair]) -> list[PairScore | JudgeError]:
        """Score pairs together; one by one if that fails, so that only the faulty one fails."""
        try:
            return [*self._scores(pairs)]
        except JudgeError as error:
            if len(pairs) == 1:
                return [error]
        return [outcome for pair in pairs for outcome in self._outcomes([pair])]

    def _scores(self, pairs: Sequence[Pair]) -> list[PairScore]:
        logits = self._run(pairs)
        if self._head.shape == "first":
            logits = logits[:, 0]
        both = zip(*self._head.probabilities(logits), strict=True)
        if self._head.shape != "tokens":
            return [PairScore(float(yes), float(no)) for yes, no in both]
        return [self._score_tokens(pair, *each) for pair, each in zip(pairs, both, strict=True)]

    def _score_tokens(self, pair: Pair, yes: Probabilities, no: Probabilities) -> PairScore:
        if not pair.claim:
            return PairScore(0.0, 0.0)
        least = min(pair.claim, key=lambda token: float(yes[token[0]]))[0]
        flagged: list[tuple[int, int]] = []
        last = -2
        for place, start, end in pair.claim:
            if yes[place] < self._settings.threshold:
                begin = flagged.pop()[0] if last == place - 1 else start
                flagged.append((begin, end))
                last = place
        return PairScore(float(yes[least]), float(no[least]), tuple(flagged))

    def _run(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        longest = max(self._min_size[1], *(len(pair.ids) for pair in pairs))
        size = max(self._min_size[0], len(pairs)), longest
        ids = np.full(size, self._padding, dtype=np.int64)
        mask, types = np.zeros_like(ids), np.zeros_like(ids)
        for row, pair in enumerate(pairs):
            ids[row, : len(pair.ids)] = pair.ids
            mask[row, : len(pair.ids)] = 1
            types[row, : len(pair.types)] = pair.types
        positions = np.broadcast_to(np.arange(longest), ids.shape)
        known = dict(zip(INPUTS, (ids, mask, types, positions), strict=True))
        inputs = self._session.get_inputs()
        feeds = {
            each.name: known[each.name].astype(_TYPES.get(each.type, np.int64)) for each in inputs
        }
        try:
            logits: NDArray[np.float32] = self._session.run([self._settings.output], feeds)[0]
        except Exception as error:  # the library's errors have no common class
            raise JudgeError(
                Cause.MALFORMED,
                f"the model failed on {count(len(pairs), 'pair')}: {quoted(str(error))}",
            ) from error
        if not np.isfinite(logits[: len(pairs)]).all():
            raise JudgeError(Cause.MALFORMED, "the model returned NaN or infinity")
        return logits[: len(pairs)]
