"""LocalModel: a loaded ONNX model, its results for pairs, and what they mean for a claim."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.concurrency import Batches, in_thread
from ragstone._internal.text import count, quoted
from ragstone.errors import Cause, JudgeError, UsageError
from ragstone.judges.local.chunks import Pair, PairEncoder
from ragstone.judges.local.files import LocalSettings, ModelFiles, library
from ragstone.types.claim import Label

Shape: TypeAlias = Literal["pair", "first", "tokens"]
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
    """The meaning of a model's outputs.

    Attributes:
        labels: the label of each output, in order.
        shape: `pair` for one result per pair, `first` for the same from its first token, `tokens`
            for one per token; None if the shape of the output decides.
        is_probability: whether the outputs are probabilities; otherwise they are logits.
    """

    labels: tuple[Label, ...]
    shape: Shape | None = None
    is_probability: bool = False

    @classmethod
    def of(
        cls,
        config: Mapping[str, object] | None,
        labels: str | None,
        shape: Shape | None,
        name: str,
        *,
        is_probability: bool = False,
    ) -> "Head":
        by_id = (config or {}).get("id2label")
        names: list[str] = []
        if labels:
            names = labels.split("/")
        elif isinstance(by_id, dict):
            pairs = cast("Mapping[str, object]", by_id).items()
            numbered = {int(number): str(label) for number, label in pairs if number.isdecimal()}
            names = [numbered[number] for number in sorted(numbered)]
        words = [re.sub(r"[\W_]+", "", each).lower() for each in names]
        known = tuple(_LABELS[word] for word in words if word in _LABELS)
        has_support = Label.SUPPORTED in known or len(words) == 1
        is_constant = len(words) > 1 and len(set(known)) < 2
        if len(known) == len(words) and has_support and not is_constant:
            return cls(known, shape, is_probability)
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
        by_rank: Mapping[int, Shape] = {2: "pair", 3: "tokens"}
        ranks = {"pair": 2, "first": 3, "tokens": 3}
        found = self.shape or by_rank.get(len(shape))
        if found is None or len(shape) != ranks[found]:
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
        places = {
            label: [n for n, each in enumerate(self.labels) if each is label]
            for label in (Label.SUPPORTED, Label.CONTRADICTED)
        }
        supported, contradicted = (wide[..., each].sum(axis=-1) for each in places.values())
        return supported, contradicted


GATHER_SECONDS = 0.002
"""How long the first item of a batch waits for others: less than any model takes for one."""
INPUTS: tuple[str, ...] = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
"""The inputs that a model may have."""
ROUNDING = 1e-3
"""How far rounding may push probabilities below 0 and above 1."""
_TYPES: Mapping[str, type[np.generic]] = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}


@dataclass(frozen=True)
class PairScore:
    """The model's result for one claim and one window.

    Attributes:
        supported: the probability of support; `contradicted` likewise.
        flagged: the characters of the claim whose tokens are unsupported.
    """

    supported: float
    contradicted: float
    flagged: tuple[tuple[int, int], ...] = ()


class LocalModel:
    """Judges pairs. Entering it loads the model and tries it once."""

    def __init__(
        self,
        name: str,
        files: ModelFiles,
        pairs: PairEncoder,
        head: Head,
        settings: LocalSettings,
        *,
        length: int,
    ) -> None:
        self._length = length
        self._min_size = (1, 1)  # pairs in a run, and tokens in a pair
        self._name, self._files, self._pairs = name, files, pairs
        self._head, self._settings = head, settings
        self._session: Any = None
        self._batches = Batches[Pair, PairScore | JudgeError](
            self._outcomes,
            size=settings.batch or 1,
            gather=GATHER_SECONDS,
            length=lambda pair: len(pair.ids),
        )

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
            raise UsageError(
                f"local:{self._name}: the model expects the inputs {', '.join(unknown or names)}; "
                f"supported are {', '.join(INPUTS)}. Models that generate text do not work here"
            )
        batch, length = next(each for each in inputs if each.name == INPUTS[0]).shape
        self._min_size = (
            batch if isinstance(batch, int) else 1,
            length if isinstance(length, int) else 1,
        )
        exported = f"local:{self._name}: the model was exported for"
        dynamic = "or export it with dynamic axes"
        if isinstance(length, int) and self._length > length:
            raise UsageError(f"{exported} pairs of {length} tokens: set length={length}, {dynamic}")
        if isinstance(batch, int) and self._settings.batch != batch:
            raise UsageError(f"{exported} batches of {batch}: set batch={batch}, {dynamic}")
        outputs = [each.name for each in session.get_outputs()]
        if self._settings.output not in outputs:  # another output may have another scale
            raise UsageError(
                f"local:{self._name}: the model has no output named {self._settings.output}; it "
                f"has {', '.join(outputs)}. Set output= to one of them, and probabilities=yes if "
                "it is probabilities (after a softmax or sigmoid) instead of logits"
            )
        try:
            logits = self._run([self._pairs.pair("A context.", "A claim.")])
        except JudgeError as error:
            raise UsageError(f"local:{self._name}: {error}") from error
        self._head = self._head.check(logits.shape, self._name)
        is_outside = logits.min() < -ROUNDING or logits.max() > 1 + ROUNDING
        if self._head.is_probability and is_outside:
            raise UsageError(
                f"local:{self._name}: probabilities=yes, but {self._settings.output} has values "
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
            raise UsageError(
                f"local:{self._name}: the installed onnxruntime does not support "
                f"{settings.device}; install onnxruntime-gpu instead, or remove device="
            )
        try:
            session = runtime.InferenceSession(str(self._files.onnx), options, providers=[provider])
        except Exception as error:  # the library's errors have no common class
            raise UsageError(
                f"local:{self._name}: the model cannot be loaded: {quoted(str(error))}"
            ) from error
        if provider not in session.get_providers():  # it falls back to the CPU by itself
            raise UsageError(f"local:{self._name}: {settings.device} could not be started")
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
        scores: list[PairScore] = []
        for pair, (yes, no) in zip(pairs, both, strict=True):
            if not pair.claim:
                scores.append(PairScore(0.0, 0.0))
                continue
            least = min(pair.claim, key=lambda token: float(yes[token[0]]))[0]
            flagged: list[tuple[int, int]] = []
            last = -2
            for place, start, end in pair.claim:
                if yes[place] < self._settings.threshold:
                    begin = flagged.pop()[0] if last == place - 1 else start
                    flagged.append((begin, end))
                    last = place
            scores.append(PairScore(float(yes[least]), float(no[least]), tuple(flagged)))
        return scores

    def _run(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        longest = max(self._min_size[1], *(len(pair.ids) for pair in pairs))
        size = max(self._min_size[0], len(pairs)), longest
        ids = np.full(size, self._pairs.padding, dtype=np.int64)
        mask, types = np.zeros_like(ids), np.zeros_like(ids)
        for row, pair in enumerate(pairs):
            ids[row, : len(pair.ids)] = pair.ids
            mask[row, : len(pair.ids)] = 1
            types[row, : len(pair.types)] = pair.types
        positions = np.broadcast_to(np.arange(longest), ids.shape)
        known = dict(zip(INPUTS, (ids, mask, types, positions), strict=True))
        feeds = {
            each.name: known[each.name].astype(_TYPES.get(each.type, np.int64))
            for each in self._session.get_inputs()
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
