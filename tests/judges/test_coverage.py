from tests.cases import each_case

from ragstone._internal.sentences import split_sentences
from ragstone.judges.llm.tasks import uncovered

BATTERY, CASE = "The battery lasts twenty hours.", "The case is made of metal."


@each_case(
    ("response", "claims", "left"),
    [
        (f"{BATTERY} {CASE}", [BATTERY, CASE], []),
        (f"{BATTERY} {CASE}", [BATTERY], [CASE]),
        (f"{BATTERY} {CASE}", [], [BATTERY, CASE]),
        (f"{BATTERY} {CASE}", ["A battery of 20 hours.", "Metal is what it is made of."], []),
        (f"{BATTERY} It is blue.", [BATTERY], []),  # too short to be missed
        (f"Sure! {BATTERY} Shall I tell you more about the metal case?", [BATTERY], []),
        (f"{BATTERY} Let me know if you need anything further about it.", [BATTERY], []),
        (f"# Battery and case of this telephone\n\n{BATTERY}", [BATTERY], []),
        ("", [], []),
    ],
)
def test_sentences_that_state_something_and_are_in_no_claim(
    response: str, claims: list[str], left: list[str]
) -> None:
    assert list(uncovered(split_sentences(response), claims)) == left
