from datetime import UTC, datetime

from ragstone.evaluation.judge_test import Probe, count_agreements
from ragstone.results.calibration import majority, verdict_of
from ragstone.types.claim import JudgedClaim
from ragstone.types.claim import Label as Verdict
from ragstone.types.label import HumanLabel
from ragstone.types.row import Row
from ragstone.types.sample import Sample
from ragstone.types.score import Score


def label(
    claim: int | None, value: bool | None, *, by: str = "ann", position: int = 0
) -> HumanLabel:
    at = datetime.now(UTC)
    return HumanLabel("run", position, str(position), "m", claim, value, by, at, 1.0, True)


def score(value: float, *verdicts: Verdict) -> Score:
    claims = [
        JudgedClaim(text=f"c{n}", span=None, label=each, reason="", confidence=None, evidence=())
        for n, each in enumerate(verdicts)
    ]
    return Score.scored(value, claims=claims)


def row(index: int, value: float | None) -> Row:
    scores = {"m": Score.undefined("none") if value is None else Score.scored(value)}
    return Row(index, Sample(id=str(index), query="?"), scores=scores)


def test_most_annotators_decide_and_ties_are_left_out() -> None:
    labels = [
        label(0, True),
        label(0, True, by="bob"),
        label(0, False, by="cleo"),
        label(1, True),
        label(1, False, by="bob"),
        label(2, None),
        label(None, False),
    ]
    assert majority(labels) == {("m", 0, 0): True, ("m", 0, None): False}


def test_a_verdict_is_of_one_claim_or_of_the_whole_response() -> None:
    half = score(0.5, Verdict.SUPPORTED, Verdict.CONTRADICTED)
    assert [verdict_of(half, claim) for claim in (0, 1, None, 2)] == [True, False, False, None]
    assert verdict_of(score(1.0, Verdict.SUPPORTED), None) is True
    assert verdict_of(Score.scored(0.7), None) is False
    assert verdict_of(Score.undefined("no claims"), 0) is None
    assert verdict_of(None, 0) is None


def test_a_row_counts_only_if_all_its_labelled_claims_have_a_verdict() -> None:
    def probe(**verdicts: bool | None) -> Probe:
        names = {f"{name[1]} {name[2]} m": each for name, each in verdicts.items()}
        return Probe(at="", version="", setup="", verdicts=names)

    units = {("m", 3, 0): True, ("m", 3, 1): False, ("m", 1, 0): True}
    probes = [
        probe(r30=True, r31=True, r10=True),
        probe(r30=True, r31=None, r10=False),
        probe(),
    ]
    counts, sizes = count_agreements(probes, units)
    assert counts.tolist() == [[1, 1], [0, -1], [-1, -1]]
    assert sizes.tolist() == [1, 2]
