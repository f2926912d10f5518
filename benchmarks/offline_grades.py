"""How well the offline judge grades contexts and sees abstentions, on the demo's questions.

python benchmarks/offline_grades.py

Grades the five contexts that each of the demo's retrievers ranks highest, against the reference
answer; right is what the data set knows to be relevant. Beside it, on the same rows, a judge that
calls every context relevant, and one that calls only the first so. Then, for the demo's answers to
all questions: which of them abstain, and which the judge says do.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence

from ragstone.demo.questions import Entry, entries
from ragstone.demo.server import NOT_FOUND, Answer, Variant, make_service
from ragstone.judges.offline import OfflineJudge
from ragstone.types.questions import DetectAbstention, GradeContexts

JUDGE = OfflineJudge()
Row = tuple[Entry, Answer]


def rows(variant: Variant) -> list[Row]:
    """Ask the demo's service every question, within the process."""
    service = make_service(variant)
    return [(entry, service.chat(entry.query)) for entry in entries()]


async def graded(entry: Entry, said: Answer) -> list[bool]:
    """Return what the judge says of each context."""
    texts = tuple(place.passage.text for place in said.found)
    question = GradeContexts(query=entry.query, answer=entry.ground_truth_answer, contexts=texts)
    return [grade.relevant for grade in (await JUDGE.answer(question)).value]


def known(entry: Entry, said: Answer) -> list[bool]:
    """Return what the data set says of each context."""
    return [place.passage.id in entry.point_ids for place in said.found]


def rates(answers: Sequence[tuple[bool, bool]]) -> str:
    """Return precision and recall of (truth, answer) pairs."""
    counts = Counter(answers)
    found, right = counts[True, True] + counts[False, True], counts[True, True]
    there = right + counts[True, False]
    return f"precision {right / found:.2f}, recall {right / there:.2f}"


def pairs(told: Sequence[tuple[list[bool], list[bool]]]) -> Iterator[tuple[bool, bool]]:
    """Yield every context's truth and answer."""
    for truth, answers in told:
        yield from zip(truth, answers, strict=True)


async def main() -> None:
    """Print the rates."""
    for variant in Variant:
        asked = [(entry, said) for entry, said in rows(variant) if entry.point_ids]
        truths = [known(*row) for row in asked]
        contexts, relevant = sum(map(len, truths)), sum(map(sum, truths))
        print(f"{variant} retriever: {relevant} of {contexts} contexts are relevant")
        judges = {
            "the offline judge": [await graded(*row) for row in asked],
            "all are relevant": [[True] * len(truth) for truth in truths],
            "only the first is": [[n == 0 for n in range(len(truth))] for truth in truths],
        }
        for name, answers in judges.items():
            print(f"  {name}: {rates(list(pairs(list(zip(truths, answers, strict=True)))))}")
    said = [
        (entry, one.response == NOT_FOUND,
         (await JUDGE.answer(DetectAbstention(query=entry.query, response=one.response))).value)
        for entry, one in rows(Variant.GOOD)
    ]  # fmt: skip
    print(f"abstaining answers: {rates([(truth, answer) for _, truth, answer in said])}")
    for answerable in (True, False):
        those = [answer for entry, _, answer in said if bool(entry.point_ids) is answerable]
        kind = "answerable" if answerable else "unanswerable"
        print(f"  abstained on {sum(those)} of {len(those)} {kind} questions")
    references = [entry.ground_truth_answer for entry in entries() if not entry.point_ids]
    seen = [
        (await JUDGE.answer(DetectAbstention(query="", response=text))).value for text in references
    ]
    print(f"  `The guides do not cover ...`: {sum(seen)} of {len(seen)} seen as abstentions")


if __name__ == "__main__":
    asyncio.run(main())
