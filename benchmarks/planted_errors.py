"""How many of the demo's planted errors the offline judge finds: precision and recall.

python benchmarks/planted_errors.py

Asks the demo all its questions, judges every claim of every answer, and counts: a claim is wrong
if and only if it is a planted error; it is found if its verdict is not SUPPORTED. Beside it, in the
same run, what a judge finds that calls every claim, or none, unsupported.
"""

from collections import Counter

from ragstone import evaluate
from ragstone.demo.dataset import DATASET
from ragstone.demo.service import Mode, make_service
from ragstone.demo.truth import planted_in

SERVICE = make_service("good")


def answer(query: str) -> dict[str, object]:
    """Ask the demo's service within the process."""
    said = SERVICE.chat(query, mode=Mode.RAG, top_k=5, score_threshold=0.0)
    contexts = [{"id": str(f.passage.id), "text": f.passage.text} for f in said.found]
    return {"response": said.response, "contexts": contexts}


def main() -> None:
    """Print the counts and the rates."""
    run = evaluate(DATASET, metrics="faithfulness", target=answer)
    assert run.summary()["faithfulness"].failed == 0
    counts: Counter[tuple[bool, bool]] = Counter()
    missed: list[str] = []
    alarms: list[str] = []
    by_kind: Counter[tuple[str, bool]] = Counter()
    for row in run.rows:
        kinds = {error.sentence: error.kind for error in planted_in(row.sample.response or "")}
        for claim in row.scores["faithfulness"].claims:
            said = [sentence for sentence in kinds if sentence in claim.text]
            wrong, found = bool(said), claim.label != "SUPPORTED"
            counts[wrong, found] += 1
            if wrong:
                by_kind[kinds[said[0]], found] += 1
            if wrong and not found:
                missed.append(claim.text)
            if found and not wrong:
                alarms.append(f"{claim.label}: {claim.text} ({claim.reason})")
    hits, false_alarms, misses = counts[True, True], counts[False, True], counts[True, False]
    print(f"claims: {counts.total()}, planted errors: {hits + misses}")
    print(f"precision {hits / (hits + false_alarms):.3f}, recall {hits / (hits + misses):.3f}")
    print(f"calling every claim unsupported: precision {(hits + misses) / counts.total():.3f}")
    for (kind, found), n in sorted(by_kind.items()):
        print(f"  {kind}: {'found' if found else 'missed'} {n}")
    print("missed:", *sorted(set(missed)), sep="\n  ")
    print("false alarms:", *sorted(set(alarms)), sep="\n  ")


if __name__ == "__main__":
    main()
