"""The output of a model, and what it means for a claim."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.text import count
from ragstone.errors import UsageError
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
        """Read the labels from an option such as `a/b/c`, otherwise from the config's id2label.

        `config` is None without a config.json.

        Raises:
            UsageError: no output is known to mean that a claim is supported.
        """
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
        """Return the head for outputs of this shape, which one run of the model returned.

        Raises:
            UsageError: the outputs do not fit the labels.
        """
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
        """Return P(supported) and P(contradicted) for each row of outputs."""
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
