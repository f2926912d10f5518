"""Evaluate a RAG system that is a Python function. Needs no server and no key.

python examples/evaluate_function.py
"""

import ragstone

GUIDE = {
    "battery": "The battery charges to 50 percent in 22 minutes.",
    "camera": "The main camera has 50 megapixels.",
}


def answer(query: str) -> dict[str, object]:
    """Retrieve texts by keyword, and answer with them."""
    found = [key for key in GUIDE if key in query.lower()]
    return {
        "response": " ".join(GUIDE[key] for key in found) or "I don't know.",
        "contexts": [{"id": key, "text": GUIDE[key]} for key in found],
    }


SAMPLES = [
    {"query": "How fast does the battery charge?", "relevance": ["battery"]},
    {"query": "How many megapixels does the camera have?", "relevance": ["camera"]},
    {"query": "Is there a headphone jack?", "relevance": ["ports"]},
]

if __name__ == "__main__":
    run = ragstone.evaluate(SAMPLES, metrics=["hit", "faithfulness"], target=answer, k=3)
    for name, summary in run.summary().items():
        print(f"{name}: {summary.mean:.4f} ({summary.scored} of {summary.n} scored)")
