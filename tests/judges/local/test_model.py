import asyncio
from collections.abc import Sequence
from threading import Event, get_ident

import numpy as np
import pytest
from tests.cases import each_case

from ragstone.errors import UsageError
from ragstone.judges.local.model import Batches, Head
from ragstone.types.claim import Label


class Runs:
    """What was run together; an item is as long as its text, and comes back in capitals."""

    def __init__(self, hold: Event | None = None) -> None:
        self.seen: list[list[str]] = []
        self.threads: set[int] = set()
        self.hold, self.begun = hold, Event()

    def __call__(self, items: Sequence[str]) -> list[str]:
        self.seen.append(list(items))
        self.threads.add(get_ident())
        self.begun.set()
        if self.hold:
            self.hold.wait(10)
        if "bad" in items:
            raise ValueError("a bad one")
        return [item.upper() for item in items]


def batches(runs: Runs, size: int = 4) -> Batches[str, str]:
    return Batches(runs, size=size, length=len)


async def test_what_arrives_together_is_run_together_sorted_by_length() -> None:
    runs = Runs()
    both = batches(runs)
    assert await both.results(["ccc", "a"]) == ["CCC", "A"]
    assert runs.seen == [["a", "ccc"]]
    found = await asyncio.gather(both.results(["dddd"]), both.results(["b", "cc"]))
    assert found == [["DDDD"], ["B", "CC"]]
    assert runs.seen[1] == ["b", "cc", "dddd"]
    assert get_ident() not in runs.threads


async def test_no_run_is_of_more_than_the_size() -> None:
    runs = Runs()
    texts = ["x" * n for n in range(1, 11)]
    assert await batches(runs).results(texts) == [text.upper() for text in texts]
    assert [len(items) for items in runs.seen] == [4, 4, 2]


async def test_what_arrives_during_a_run_is_the_next_one() -> None:
    hold = Event()
    runs = Runs(hold)
    both = batches(runs)
    first = asyncio.create_task(both.results(["a"]))
    await asyncio.to_thread(runs.begun.wait, 10)
    later = [asyncio.create_task(both.results([text])) for text in ("b", "c")]
    await asyncio.sleep(0)
    hold.set()
    assert [await each for each in (first, *later)] == [["A"], ["B"], ["C"]]
    assert runs.seen == [["a"], ["b", "c"]]


async def test_an_error_is_that_of_those_who_were_in_the_run() -> None:
    both = batches(Runs(), size=1)
    with pytest.raises(ValueError, match="a bad one"):
        await both.results(["bad"])
    assert await both.results(["good"]) == ["GOOD"]


@pytest.mark.parametrize("wrong", [lambda items: items[1:], lambda items: [*items, "more"]])
async def test_fewer_or_more_results_than_items_are_an_error_and_no_wait(wrong) -> None:
    both = Batches[str, str](wrong, size=4, length=len)
    for _ in range(2):
        with pytest.raises(ValueError, match="zip"):
            await asyncio.wait_for(both.results(["a", "bb"]), 5)
    with pytest.raises(ValueError, match="zip"):
        await asyncio.wait_for(both.results(["a"]), 5)


async def test_what_nobody_waits_for_any_more_is_not_run() -> None:
    hold = Event()
    runs = Runs(hold)
    both = batches(runs)
    first = asyncio.create_task(both.results(["a"]))
    await asyncio.to_thread(runs.begun.wait, 10)
    given_up = asyncio.create_task(both.results(["b"]))
    await asyncio.sleep(0)
    given_up.cancel()
    hold.set()
    assert await first == ["A"]
    assert await both.results(["c"]) == ["C"]
    assert runs.seen == [["a"], ["c"]]


async def test_closing_lets_go_of_what_waits() -> None:
    hold = Event()
    both = batches(Runs(hold))
    waiting = asyncio.create_task(both.results(["a"]))
    await asyncio.sleep(0.01)
    closing = asyncio.create_task(both.close())
    await asyncio.sleep(0.01)
    hold.set()
    await closing
    with pytest.raises(asyncio.CancelledError):
        await waiting


YES, NO, NEI = Label.SUPPORTED, Label.CONTRADICTED, Label.NOT_ENOUGH_INFO


@each_case(
    ("labels", "means"),
    [
        (["contradiction", "entailment", "neutral"], (NO, YES, NEI)),
        (["ENTAILMENT", "Neutral", "CONTRADICTION"], (YES, NEI, NO)),
        (["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"], (YES, NO, NEI)),
        (["entailment", "not_entailment"], (YES, NEI)),
        (["hallucinated", "consistent"], (NEI, YES)),
        (["not_hallucinated", "hallucinated"], (YES, NEI)),
        (["supported"], (YES,)),
        (["hallucination"], (NEI,)),
    ],
)
def test_words_of_models_are_known_in_any_order_and_case(labels, means) -> None:
    config = {"id2label": {str(n): label for n, label in enumerate(labels)}}
    assert Head.of(config, None, None, "m").labels == means
    assert Head.of({}, "/".join(labels), None, "m").labels == means


def test_numbers_decide_the_order_not_their_place_in_the_file() -> None:
    config = {"id2label": {"10": "neutral", "9": "entailment"}}
    assert Head.of(config, None, None, "m").labels == (YES, NEI)


@each_case("said", ["LABEL_0/LABEL_1", "LABEL_0", "0", "joy/anger", "neutral/contradiction", "a"])
def test_what_does_not_say_which_is_supported_is_refused(said: str) -> None:
    with pytest.raises(UsageError, match="is unknown: its labels are"):
        Head.of({}, said, None, "m")


def test_chances_add_up_what_means_the_same() -> None:
    head = Head((NO, YES, NEI))
    yes, no = head.probabilities(np.log(np.array([[0.1, 0.7, 0.2]], dtype=np.float32)))
    assert (yes[0], no[0]) == pytest.approx((0.7, 0.1))
    yes, no = Head((YES, YES, NEI)).probabilities(
        np.log(np.array([[0.3, 0.5, 0.2]], dtype=np.float32))
    )
    assert (yes[0], no[0]) == pytest.approx((0.8, 0.0))


def test_a_lone_output_is_a_chance_by_the_logistic_curve() -> None:
    logits = np.array([[0.0], [1000.0], [-1000.0]], dtype=np.float32)
    assert Head((YES,)).probabilities(logits)[0].tolist() == pytest.approx([0.5, 1.0, 0.0])
    assert Head((NEI,)).probabilities(logits)[0].tolist() == pytest.approx([0.5, 0.0, 1.0])


def test_what_are_chances_already_is_left_as_it_is() -> None:
    none = np.array([[0.0], [0.25]], dtype=np.float32)
    assert Head((YES,), is_probability=True).probabilities(none)[0].tolist() == [0.0, 0.25]
    assert Head((NEI,), is_probability=True).probabilities(none)[0].tolist() == [1.0, 0.75]
    three = np.array([[0.5, 0.25, 0.25]], dtype=np.float32)
    yes, no = Head((NO, YES, NEI), is_probability=True).probabilities(three)
    assert (yes[0], no[0]) == (0.25, 0.5)


@pytest.mark.parametrize(
    ("said", "shape", "found"),
    [(None, (2, 2), "pair"), (None, (2, 9, 2), "tokens"), ("first", (2, 9, 2), "first")],
)
def test_the_outputs_shape_says_what_is_judged(said, shape, found: str) -> None:
    assert Head((YES, NEI), said).check(shape, "m").shape == found


@pytest.mark.parametrize(
    ("said", "shape"), [(None, (2,)), ("pair", (2, 9, 2)), ("first", (2, 2)), (None, (2, 3))]
)
def test_a_shape_that_does_not_fit_is_refused(said, shape) -> None:
    with pytest.raises(UsageError):
        Head((YES, NEI), said).check(shape, "m")
