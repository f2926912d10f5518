"""Judge answers once and score them with every policy. Needs no server and no key.

python examples/compare_policies.py
"""

import ragstone
from ragstone.types.policy import POLICIES

GUIDE = "The phone charges to 50 percent in 22 minutes. The main camera has 50 megapixels."
SAMPLES = [
    {
        "query": "How fast does it charge?",
        "response": "It charges to 50 percent in 35 minutes. It has a headphone jack.",
        "contexts": [GUIDE],
    },
    {"query": "Is it good?", "response": "Sure!", "contexts": [GUIDE]},
    {
        "query": "How many megapixels does the main camera have?",
        "response": "The main camera has 50 megapixels.",
        "contexts": [GUIDE],
    },
]

if __name__ == "__main__":
    run = ragstone.evaluate(SAMPLES, metrics=[f"faithfulness:{name}" for name in POLICIES])
    for row in run.rows:
        print(row.sample.query)
        for name, score in row.scores.items():
            value = score.state if score.value is None else f"{score.value:.2f}"
            print(f"  {name:<28} {value:<10} {score.reason or ''}")
    print(f"judge questions: {sum(len(row.exchanges) for row in run.rows)}")
