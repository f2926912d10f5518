"""ragas' own scores of the samples of ragas_cases.py, as JSON: run by ragas_definitions.py.

Its metrics run whole, prompts and parsers and all; only the model is ours, and says what the
samples' words say.
"""

import asyncio
import json
import sys
import warnings

from ragas_cases import cases, claims, guesses, holds, noncommittal, vector

warnings.simplefilter("ignore")

from langchain_core.outputs import Generation, LLMResult  # noqa: E402
from ragas.dataset_schema import SingleTurnSample  # noqa: E402
from ragas.embeddings.base import BaseRagasEmbeddings  # noqa: E402
from ragas.llms.base import BaseRagasLLM  # noqa: E402
from ragas.metrics import (  # noqa: E402
    AnswerCorrectness,
    AnswerSimilarity,
    Faithfulness,
    LLMContextPrecisionWithoutReference,
    LLMContextPrecisionWithReference,
    LLMContextRecall,
    ResponseRelevancy,
)
from ragas.run_config import RunConfig  # noqa: E402

CALLS = {"chat": 0, "embeddings": 0}


class Model(BaseRagasLLM):
    def generate_text(self, prompt, n=1, temperature=0.01, stop=None, callbacks=None):
        CALLS["chat"] += n
        text = prompt.to_string()
        data = json.loads(text[text.rindex("input: {") + 7 : text.rindex("}") + 1])
        return LLMResult(generations=[[Generation(text=json.dumps(reply(text, data, i)))
                                       for i in range(n)]])  # fmt: skip

    async def agenerate_text(self, prompt, n=1, temperature=0.01, stop=None, callbacks=None):
        return self.generate_text(prompt, n)

    def is_finished(self, response):
        return True


class Embeddings(BaseRagasEmbeddings):
    def embed_query(self, text):
        CALLS["embeddings"] += 1
        return vector(text)

    def embed_documents(self, texts):
        CALLS["embeddings"] += 1
        return [vector(text) for text in texts]

    async def aembed_query(self, text):
        return self.embed_query(text)

    async def aembed_documents(self, texts):
        return self.embed_documents(texts)


def reply(prompt: str, data: dict, number: int) -> dict:
    if "ground_truth" in data:
        right = [claim for claim in data["answer"] if holds(claim, "in reference")]
        wrong = [claim for claim in data["answer"] if claim not in right]
        missing = [claim for claim in data["ground_truth"] if not holds(claim, "in response")]
        return {
            key: [{"statement": claim, "reason": "-"} for claim in found]
            for key, found in (("TP", right), ("FP", wrong), ("FN", missing))
        }
    if "statements" in data:
        found = [(claim, holds(claim, "in contexts")) for claim in data["statements"]]
        return {
            "statements": [{"statement": c, "reason": "-", "verdict": int(v)} for c, v in found]
        }
    if "attributed" in prompt:
        found = [(claim, holds(claim, "in contexts")) for claim in claims(data["answer"])]
        return {
            "classifications": [
                {"statement": c, "reason": "-", "attributed": int(v)} for c, v in found
            ]
        }
    if "context" in data:
        return {"reason": "-", "verdict": int("of use" in data["context"])}
    if "response" in data:
        evades = int(noncommittal(data["response"]))
        return {"question": guesses(data["response"])[number], "noncommittal": evades}
    return {"statements": claims(data["answer"])}


def metrics() -> dict[str, object]:
    model, embeddings = Model(), Embeddings()
    embeddings.set_run_config(RunConfig())
    likeness = AnswerSimilarity(embeddings=embeddings)
    return {
        "faithfulness": Faithfulness(llm=model),
        "context_precision": LLMContextPrecisionWithReference(llm=model),
        "context_utilization": LLMContextPrecisionWithoutReference(llm=model),
        "context_recall": LLMContextRecall(llm=model),
        "answer_correctness": AnswerCorrectness(llm=model, weights=[1.0, 0.0]),
        "answer_correctness,semantic=0.25": AnswerCorrectness(
            llm=model, embeddings=embeddings, answer_similarity=likeness
        ),
        "answer_similarity": likeness,
        "response_relevancy": ResponseRelevancy(llm=model, embeddings=embeddings),
    }


async def main(n: int) -> None:
    scores: dict[str, list[float]] = {}
    calls: dict[str, dict[str, int]] = {}
    for name, metric in metrics().items():
        CALLS.update(chat=0, embeddings=0)
        scores[name] = [
            await metric.single_turn_ascore(
                SingleTurnSample(
                    user_input=case["query"],
                    response=case["response"],
                    reference=case["reference"],
                    retrieved_contexts=case["contexts"],
                )
            )
            for case in cases(n)
        ]
        calls[name] = dict(CALLS)
    print(json.dumps({"scores": scores, "calls": calls}))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
