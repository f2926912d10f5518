"""Head: what the numbers that a model puts out mean for a claim."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.text import count
from ragstone.errors import UsageError
from ragstone.types.claim import Label

Shape: TypeAlias = Literal["pair", "first", "tokens"]
Logits: TypeAlias = NDArray[np.float32]

_SAYINGS: Mapping[Label, str] = MappingProxyType(
    {
        Label.SUPPORTED: "supported support supports entailment entailed entails entail consistent "
        "faithful factual grounded attributable aligned nothallucinated nothallucination true yes",
        Label.CONTRADICTED: "contradicted contradiction contradicts contradict contradictory "
        "refuted refutes refute",
        Label.NOT_ENOUGH_INFO: "neutral notenoughinfo notenoughinformation nei unknown "
        "unsupported notsupported notentailment nonentailment notentailed inconsistent "
        "hallucinated hallucination unfaithful nonfactual notfactual ungrounded baseless false no",
    }
)
_MEANINGS: Mapping[str, Label] = MappingProxyType(
    {word: label for label, words in _SAYINGS.items() for word in words.split()}
)
KNOWN = "supported or entailment; contradiction or refuted; neutral, unsupported or hallucinated"


@dataclass(frozen=True)
class Head:
    """What a model's outputs mean.

    Attributes:
        labels: of each output in order. One output alone is of what it means.
        shape: whether the pair is judged as a whole, by its first token, or token by token;
            None: as the outputs' shape says.
        chances_out: whether the model puts out chances, 0 to 1; else they are logits.
    """

    labels: tuple[Label, ...]
    shape: Shape | None = None
    chances_out: bool = False

    @classmethod
    def of(
        cls,
        config: Mapping[str, object] | None,
        said: str | None,
        shape: Shape | None,
        name: str,
        *,
        chances_out: bool = False,
    ) -> "Head":
        """Read the labels from what is `said`, as `a/b/c`, else from the config's id2label.

        `config` is None where there is none.

        Raises:
            UsageError: they do not tell which output means that a claim is supported.
        """
        names = said.split("/") if said else _named(config or {})
        simple = [re.sub(r"[\W_]+", "", each).lower() for each in names]
        labels = tuple(label for each in simple if (label := _MEANINGS.get(each)))
        told = Label.SUPPORTED in labels or len(simple) == 1
        if len(labels) < len(simple) or not told or (len(simple) > 1 and len(set(labels)) < 2):
            seen = f"its labels are {', '.join(names)}" if names else "it names no labels"
            if config is None:
                seen = "there is no config.json, which would name its labels"
            raise UsageError(
                f"local:{name}: what the model's outputs mean is not known: {seen}. Say it in "
                "their order, such as labels=unsupported/supported, "
                f"labels=supported where there is one output, or "
                f"labels=entailment/neutral/contradiction; known are: {KNOWN}"
            )
        return cls(labels, shape, chances_out)

    def check(self, shape: Sequence[int], name: str) -> "Head":
        """Return the head for outputs of this shape, that of one run of the model.

        Raises:
            UsageError: the outputs are not what the labels say.
        """
        by_rank: Mapping[int, Shape] = {2: "pair", 3: "tokens"}
        fits = {"pair": 2, "first": 3, "tokens": 3}
        found = self.shape or by_rank.get(len(shape))
        if found is None or len(shape) != fits[found]:
            raise UsageError(
                f"local:{name}: the model's output has the shape {list(shape)}; known are "
                "[pairs, labels], and [pairs, tokens, labels] (head=tokens, or head=first)"
            )
        if shape[-1] != len(self.labels):
            raise UsageError(
                f"local:{name}: the model has {count(shape[-1], 'output')}, and known are "
                f"{count(len(self.labels), 'label')}; say them in the outputs' order with "
                "labels=, such as labels=unsupported/supported"
            )
        return replace(self, shape=found)

    def chances(self, logits: Logits) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return P(supported) and P(contradicted) for each row of logits, from 0 to 1."""
        wide = logits.astype(np.float64)
        if len(self.labels) == 1:
            alone = wide[..., 0] if self.chances_out else _logistic(wide[..., 0])
            supported = self.labels[0] is Label.SUPPORTED
            return (alone if supported else 1 - alone), np.zeros_like(alone)
        shares = wide if self.chances_out else _softmax(wide)
        return self._sum(shares, Label.SUPPORTED), self._sum(shares, Label.CONTRADICTED)

    def _sum(self, shares: NDArray[np.float64], label: Label) -> NDArray[np.float64]:
        places = [n for n, each in enumerate(self.labels) if each is label]
        return shares[..., places].sum(axis=-1)


def _logistic(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-np.clip(logits, -500, 500)))


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def _named(config: Mapping[str, object]) -> list[str]:
    """Return the config's labels by their number."""
    by_id = config.get("id2label")
    if not isinstance(by_id, dict):
        return []
    pairs = cast("Mapping[str, object]", by_id).items()
    numbered = {int(number): str(label) for number, label in pairs if number.isdecimal()}
    return [numbered[number] for number in sorted(numbered)]
