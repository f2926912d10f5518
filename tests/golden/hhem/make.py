"""Make a tiny HHEM of random weights, export it as anyone would, and write what PyTorch says of it.

`python tests/golden/hhem/make.py`, in an environment with what examples/export_hhem.py needs.
"""

import json
import runpy
import tempfile
from pathlib import Path

import onnx
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import T5Config, T5ForTokenClassification

HERE = Path(__file__).parent
SCRIPT = runpy.run_path(str(HERE.parents[2] / "examples/export_hhem.py"))
CONTEXTS = [
    "The phone weighs 172 grams. Its battery lasts two days.",
    "Short.",
    """The box holds a cable, a charger and a booklet. It does not hold a case.

The phone charges to 50 percent in 22 minutes, and the main camera has 50 megapixels.""",
    "Ünïcode, “quoted” <pad> and </s>, which stand for nothing here.",
]
CLAIMS = [
    "The phone weighs 180 grams.",
    "No.",
    "The box holds a case, and the main camera charges to 50 percent in two days, as all do.",
]


def tokenizer() -> Tokenizer:
    """Train one of T5's kind."""
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    special = ["<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(
        vocab_size=150, special_tokens=special, unk_token="<unk>", show_progress=False
    )
    made.train_from_iterator([*CONTEXTS[:3], *CLAIMS, SCRIPT["ASK"]], trainer)
    made.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    return made


def network(vocabulary: int) -> T5ForTokenClassification:
    """Make a T5 of random weights, large enough for the texts to make a difference."""
    torch.manual_seed(9)
    config = T5Config(
        d_model=16, d_kv=4, d_ff=24, num_layers=2, num_heads=4, vocab_size=vocabulary,
        feed_forward_proj="gated-gelu", tie_word_embeddings=False,
    )  # fmt: skip
    made = T5ForTokenClassification(config)
    for weight in made.parameters():
        if weight.dim() > 1:
            torch.nn.init.normal_(weight, std=0.5)
    return made.eval()


def main() -> None:
    """Write the folder that the script exports, and chances.json."""
    words = tokenizer()
    made = network(words.get_vocab_size())
    with tempfile.TemporaryDirectory() as place:
        made.config.save_pretrained(place)
        words.save(str(Path(place, "tokenizer.json")))
        weights = {f"t5.{name}": weight for name, weight in made.state_dict().items()}
        del weights["t5.transformer.encoder.embed_tokens.weight"]  # the same as `shared`
        save_file(weights, Path(place, "model.safetensors"))
        SCRIPT["export"](place, place, HERE)
    graph = onnx.load(HERE / "model.onnx")
    for node in graph.graph.node:  # where in its own files PyTorch made it
        del node.metadata_props[:]
    onnx.save(graph, HERE / "model.onnx")
    cases: list[dict[str, str | float]] = []
    for context in CONTEXTS:
        for claim in CLAIMS:
            text = SCRIPT["ASK"].format(context=context, claim=claim)
            ids = torch.tensor([words.encode(text).ids])
            with torch.no_grad():
                logits = made(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
            chance = torch.softmax(logits[0, 0], -1)[1].item()
            cases.append({"context": context, "claim": claim, "supported": chance})
    (HERE / "chances.json").write_text(json.dumps(cases, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
