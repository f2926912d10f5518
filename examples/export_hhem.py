"""Export HHEM-2.1-Open to ONNX, to use it as a local judge.

python examples/export_hhem.py models/hhem
ragstone answers.jsonl -m faithfulness --judge local:models/hhem

Install in a separate environment: pip install torch transformers onnxscript. The script downloads
the weights (0.44 GB), and the config and tokenizer of their T5 base; both can also be local
folders. It does not run the model's own Python code, because transformers has the same network: a
T5 encoder with a classifier for each token, of which only the first token counts. If a weight is
missing or left over, nothing is written.
"""

import argparse
import json
from pathlib import Path
from shutil import copyfile

import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import AutoConfig, T5ForTokenClassification
from transformers.utils import cached_file

ASK = """<pad> Determine if the hypothesis is true given the premise?

Premise: {context}

Hypothesis: {claim}"""
"""The text that HHEM was trained with."""
LABELS = ("hallucinated", "consistent")


class FirstToken(torch.nn.Module):
    """A token classifier's result for the first token, which is the result for the whole text."""

    def __init__(self, classifier: T5ForTokenClassification) -> None:
        super().__init__()
        self.classifier = classifier

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return logits [texts, labels] for tokens [texts, tokens]."""
        return self.classifier(input_ids, attention_mask).logits[:, 0]


def load(model: str, base: str) -> FirstToken:
    """Load HHEM's weights into transformers' own T5.

    Raises:
        SystemExit: weights are missing or left over, so this is another model.
    """
    weights = load_file(cached_file(model, "model.safetensors"))
    classifier, loading = T5ForTokenClassification.from_pretrained(
        None,
        config=AutoConfig.from_pretrained(base, num_labels=len(LABELS)),
        state_dict={name.removeprefix("t5."): weight for name, weight in weights.items()},
        attn_implementation="eager",  # torch.onnx can export this one at any length
        output_loading_info=True,
    )
    if differences := [*loading["missing_keys"], *loading["unexpected_keys"]]:
        raise SystemExit(f"{model} is not HHEM-2.1 on {base}: they differ in {differences[:5]}")
    return FirstToken(classifier).float().eval()


def export(model: str, base: str, folder: Path) -> None:
    """Write model.onnx, tokenizer.json, config.json with the labels, and ask.txt."""
    network = load(model, base)
    folder.mkdir(parents=True, exist_ok=True)
    ids = torch.ones(2, 8, dtype=torch.int64)
    any_size = dict.fromkeys((0, 1), torch.export.Dim.DYNAMIC)
    torch.onnx.export(
        network,
        (ids, torch.ones_like(ids)),
        folder / "model.onnx",
        input_names=["input_ids", "attention_mask"],
        output_names=["logits"],
        dynamic_shapes=(any_size, any_size),
        external_data=False,
        verbose=False,
    )
    copyfile(cached_file(base, "tokenizer.json"), folder / "tokenizer.json")
    labels = {"id2label": dict(enumerate(LABELS))}
    (folder / "config.json").write_text(json.dumps(labels), encoding="utf-8")
    (folder / "ask.txt").write_text(ASK, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="output folder")
    parser.add_argument("--model", default="vectara/hallucination_evaluation_model")
    parser.add_argument("--base", default="google/flan-t5-base", help="the T5 model it is based on")
    arguments = parser.parse_args()
    export(arguments.model, arguments.base, arguments.folder)
