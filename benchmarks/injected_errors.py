"""How many of the demo's injected errors the offline judge finds: precision and recall.

python benchmarks/injected_errors.py

It asks the demo all its questions, judges every claim of every answer, and counts. A claim is wrong
if it is an injected error. It is found if its verdict is not SUPPORTED, and missed if the judge
does not extract it as a claim. The baseline calls every claim unsupported.
"""

from collections import Counter
from dataclasses import dataclass

from ragstone import evaluate
from ragstone.demo.questions import DATASET, corpus
from ragstone.demo.server import make_service

SERVICE = make_service("good")
ERRORS = [line for passage in corpus() for line in passage.lines if line.error is not None]


def answer(query: str) -> dict[str, object]:
    """Ask the demo's service within the process."""
    reply = SERVICE.chat(query)
    contexts = [{"id": str(f.passage.id), "text": f.passage.text} for f in reply.found]
    return {"response": reply.response, "contexts": contexts}


@dataclass(frozen=True)
class Count:
    """Claims by whether they are wrong and whether they were found, and the misjudged ones."""

    counts: Counter[tuple[bool, bool]]
    by_kind: Counter[tuple[str, bool]]
    missed: set[str]
    alarms: set[str]

    @property
    def precision(self) -> float:
        """The share of wrong claims among those found."""
        return self.counts[True, True] / (self.counts[True, True] + self.counts[False, True])

    @property
    def recall(self) -> float:
        """The share of found claims among the wrong ones."""
        return self.counts[True, True] / self.wrong

    @property
    def wrong(self) -> int:
        """The number of wrong claims."""
        return self.counts[True, True] + self.counts[True, False]


def count() -> Count:
    """Ask all questions, judge all claims, and count."""
    run = evaluate(DATASET, metrics="faithfulness", target=answer)
    assert run.summary()["faithfulness"].failed == 0
    result = Count(Counter(), Counter(), set(), set())
    for row in run.rows:
        response = row.sample.response or ""
        kinds = {line.spoken: str(line.error) for line in ERRORS if line.spoken in response}
        claims = row.scores["faithfulness"].claims
        for sentence, kind in kinds.items():
            if not any(sentence in claim.text for claim in claims):
                result.counts[True, False] += 1
                result.by_kind[kind, False] += 1
                result.missed.add(f"{sentence} (no claim)")
        for claim in claims:
            said = [sentence for sentence in kinds if sentence in claim.text]
            wrong, found = bool(said), claim.label != "SUPPORTED"
            result.counts[wrong, found] += 1
            if wrong:
                result.by_kind[kinds[said[0]], found] += 1
            if wrong and not found:
                result.missed.add(claim.text)
            if found and not wrong:
                result.alarms.add(f"{claim.label}: {claim.text} ({claim.reason})")
    return result


def main() -> None:
    """Print the counts and the rates."""
    result = count()
    total = result.counts.total()
    print(f"claims: {total}, injected errors: {result.wrong}")
    print(f"precision {result.precision:.3f}, recall {result.recall:.3f}")
    print(f"calling every claim unsupported: precision {result.wrong / total:.3f}, recall 1.000")
    for (kind, found), n in sorted(result.by_kind.items()):
        print(f"  {kind}: {'found' if found else 'missed'} {n}")
    print("missed:", *sorted(result.missed), sep="\n  ")
    print("false alarms:", *sorted(result.alarms), sep="\n  ")


if __name__ == "__main__":
    main()
