from tests.cases import each_case

from ragstone.reports.html.samples import claim_sources
from ragstone.types.claim import JudgedClaim, Label, Texts


def claims(*against: Texts) -> list[JudgedClaim]:
    return [
        JudgedClaim(
            text="It.",
            span=None,
            label=Label.SUPPORTED,
            reason=None,
            confidence=None,
            evidence=(),
            against=texts,
        )
        for texts in against
    ]


@each_case(
    ("metric", "against", "of"),
    [
        ("faithfulness", ["contexts", "contexts"], ["response", "response"]),
        ("context_recall", ["contexts"], ["reference"]),
        ("claim_recall", ["response"], ["reference"]),
        ("answer_correctness", ["reference", "response"], ["response", "reference"]),
        (
            "noise_sensitivity,contexts=relevant",
            ["contexts", "reference", "contexts"],
            ["response", "response", "reference"],
        ),
        ("a_metric_that_is_not_loaded", ["response", "contexts"], ["reference", "response"]),
        ("hit@5", [], []),
    ],
)
def test_each_claim_is_of_the_text_that_its_check_reads(
    metric: str, against: list[Texts], of: list[str]
) -> None:
    assert claim_sources(metric, claims(*against)) == of
