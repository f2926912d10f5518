"""Tiny ONNX models that read words: made here, with a tokenizer and a config, as real ones are.

A claim is supported where all of its words stand in the context; the word "not" in the context
contradicts it. What each model puts out has the shape of a kind of real models.
"""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = (
    "[PAD] [UNK] [CLS] [SEP] . the phone weighs 172 180 grams battery lasts two three days camera "
    "has lens box holds cable not it charges in an hour screen is bright radio none"
).split()
FREE = 6
"""Words from the first on that need no support: marks, special tokens, and `the`."""
LABELS = {
    "nli": ["CONTRADICTION", "entailment", "Neutral"],
    "pair": ["unsupported", "supported"],
    "one": ["supported"],
    "tokens": ["supported", "hallucinated"],
}
MakeModel = Callable[..., Path]


def write_model(
    folder: Path,
    kind: str,
    *,
    labels: list[str] | None = None,
    size: tuple[int | str, int | str] = ("pairs", "tokens"),
    scales: bool = False,
    output: str = "logits",
    chances: bool = False,
    **config: object,
) -> Path:
    """Write a model of that kind; `size` is of its batches, `scales` puts a scaling into it.

    Its output has the name `output`, and holds chances where it is told so.
    """
    folder.mkdir(parents=True, exist_ok=True)
    model = _graph(kind, size, scales=scales)
    if chances:
        last = next(node for node in model.graph.node if "logits" in node.output)
        last.output[0] = "before"
        scale = {"axis": -1} if kind != "one" else {}
        curve = "Sigmoid" if kind == "one" else "Softmax"
        model.graph.node.append(helper.make_node(curve, ["before"], ["logits"], **scale))
    for node in model.graph.node:
        node.output[:] = [output if name == "logits" else name for name in node.output]
    model.graph.output[0].name = output
    onnx.save(model, folder / "model.onnx")
    _tokenizer().save(str(folder / "tokenizer.json"))
    names = LABELS[kind] if labels is None else labels
    said = {"id2label": {str(n): name for n, name in enumerate(names)}} if names else {}
    (folder / "config.json").write_text(json.dumps({**said, **config}))
    return folder


@pytest.fixture
def make_model(tmp_path: Path) -> MakeModel:
    def make(kind: str, **said: object) -> Path:
        return write_model(tmp_path / kind, kind, **said)  # type: ignore[arg-type]

    return make


def _tokenizer() -> Tokenizer:
    vocabulary = {word: n for n, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    special = [(name, vocabulary[name]) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=special
    )
    return tokenizer


def _graph(
    kind: str, shape: tuple[int | str, int | str], *, scales: bool = False
) -> onnx.ModelProto:
    size = len(WORDS)
    counted = np.array([0.0] * FREE + [1.0] * (size - FREE), dtype=np.float32)
    denies = np.array([float(word == "not") for word in WORDS], dtype=np.float32)
    constants = {
        "eye": np.eye(size, dtype=np.float32), "counted": counted, "denies": denies,
        "one": np.float32(1), "four": np.float32(4), "eight": np.float32(8),
        "minus": np.float32(-1),
        "last": np.array([-1], dtype=np.int64), "middle": np.array([1], dtype=np.int64),
    }  # fmt: skip
    node = helper.make_node
    nodes = [
        node("Gather", ["eye", "input_ids"], ["words"]),
        node("Cast", ["attention_mask"], ["there"], to=TensorProto.FLOAT),
        node("Cast", ["token_type_ids"], ["second"], to=TensorProto.FLOAT),
        node("Unsqueeze", ["there", "last"], ["there3"]),
        node("Unsqueeze", ["second", "last"], ["second3"]),
        node("Sub", ["one", "second3"], ["first3"]),
        node("Mul", ["words", "there3"], ["shown"]),
        node("Mul", ["shown", "second3"], ["claim_words"]),
        node("Mul", ["shown", "first3"], ["context_words"]),
        node("ReduceMax", ["claim_words", "middle"], ["claim"], keepdims=0),
        node("ReduceMax", ["context_words", "middle"], ["context"], keepdims=0),
        node("Sub", ["one", "context"], ["absent"]),
        *(_by_token(node) if kind == "tokens" else _by_pair(node, kind)),
        *([node("DynamicQuantizeLinear", ["there"], ["q", "scale", "zero"])] if scales else []),
    ]
    known = ("input_ids", "attention_mask", "token_type_ids")
    outputs = [*shape, 2] if kind == "tokens" else [shape[0], len(LABELS[kind])]
    graph = helper.make_graph(
        nodes,
        kind,
        [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in known],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, outputs)],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def _by_pair(node: Callable[..., onnx.NodeProto], kind: str) -> list[onnx.NodeProto]:
    """Entailment 4, less 8 for each missing word and for a denial; contradiction the other way."""
    joined = {
        "nli": ["contradiction", "entailment", "neutral"],
        "pair": ["neutral", "entailment"],
        "one": ["entailment"],
    }
    return [
        node("Mul", ["claim", "absent"], ["missing_words"]),
        node("Mul", ["missing_words", "counted"], ["missing_counted"]),
        node("ReduceSum", ["missing_counted", "last"], ["missing"], keepdims=1),
        node("Mul", ["context", "denies"], ["denials"]),
        node("ReduceMax", ["denials", "last"], ["denial"], keepdims=1),
        node("Mul", ["missing", "eight"], ["missing8"]),
        node("Mul", ["denial", "eight"], ["denial8"]),
        node("Sub", ["four", "missing8"], ["enough"]),
        node("Sub", ["enough", "denial8"], ["entailment"]),
        node("Sub", ["denial8", "four"], ["denied"]),
        node("Sub", ["denied", "missing8"], ["contradiction"]),
        node("Sub", ["missing", "missing"], ["neutral"]),
        node("Concat", joined[kind], ["logits"], axis=1),
    ]


def _by_token(node: Callable[..., onnx.NodeProto]) -> list[onnx.NodeProto]:
    """Four for a token that the context has, minus four for one that it has not."""
    return [
        node("Mul", ["absent", "counted"], ["absent_counted"]),
        node("Unsqueeze", ["absent_counted", "last"], ["column"]),
        node("MatMul", ["words", "column"], ["lacks"]),
        node("Mul", ["lacks", "eight"], ["lacks8"]),
        node("Sub", ["four", "lacks8"], ["backed"]),
        node("Mul", ["backed", "minus"], ["flagged"]),
        node("Concat", ["backed", "flagged"], ["logits"], axis=2),
    ]
