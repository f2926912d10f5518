from tests.cases import each_case

from ragstone.judges.offline.judge import DEFAULTS, read_claims, read_weights, verify_claims
from ragstone.judges.offline.matching import (
    CONFLICTS,
    ContextIndex,
    find_conflicts,
    match_claim,
)
from ragstone.types.claim import Label


def matched(claim, *contexts):
    (read,) = read_claims([claim])
    return read, match_claim(read, ContextIndex(contexts))


def test_another_context_that_agrees_rules_a_conflict_out():
    contexts = ["The tower weighs 2500 kg.", "They say that the tower weighs 1800 kg."]
    (verdict,) = verify_claims(["The tower weighs 1800 kg."], contexts)
    assert verdict.label is Label.SUPPORTED


AGREEING = [
    ("The flat has 25 rooms.", "The flat has twenty-five rooms."),
    ("Members must be 18 years old.", "Members must be 18."),
    ("The firm earned $5 million.", "The firm earned $5m."),
    ("No more than two bags are allowed.", "At most two bags are allowed."),
    ("There is no doubt that the lid is red.", "The lid is red."),
    ("The lamp is red and round.", "The lamp is not only red but also round."),
    ("The lid is not closed.", "The lid is open."),
    ("Adults avoid the ticket.", "Adults do not need the ticket."),
]
CONFLICTING = [
    ("negation", "The lid is red.", "The lid is not red."),
    ("negation", "The lid cannot be closed.", "The lid can be closed."),
    ("negation", "Das Gerät ist geschützt.", "Das Gerät ist nicht geschützt."),
    ("negation", "La pantalla es resistente.", "La pantalla no es resistente."),
    ("negation", "बैटरी हटाई जा सकती है।", "बैटरी नहीं हटाई जा सकती है।"),
    ("name", "The lamp is by Ines Lund.", "The lamp is by Ines Moreau."),
    ("figure", "The lamp weighs 12 kg.", "The lamp weighs 13 kg."),
    ("figure", "The lamp weighs 12 kg.", "The lamp is heavy."),
]


def conflicts(claim, context):
    return find_conflicts(*matched(claim, context), ContextIndex([context]))


@each_case(("claim", "context"), [*AGREEING, *((two, one) for one, two in AGREEING[:5])])
def test_the_same_in_other_words_is_not_a_conflict(claim, context):
    assert conflicts(claim, context) == {}


@each_case(("kind", "claim", "context"), CONFLICTING)
def test_each_kind_of_conflict_is_found_and_lowers_the_probability(kind, claim, context):
    assert kind in conflicts(claim, context)
    (verdict,) = verify_claims([claim], [context])
    assert verdict.label is Label.NOT_ENOUGH_INFO
    assert verdict.reason.startswith(("possible conflict: ", "no sentence covers: "))
    assert verdict.confidence > 1 - read_weights()[kind]
    assert all(0 < read_weights()[each] < DEFAULTS.threshold for each in CONFLICTS)


@each_case(
    ("claim", "context"),
    [
        ("Two of the Brits moved.", "Two Britons moved."),
        ("The war in Vietnamese towns ended.", "The war in towns of Vietnam ended."),
    ],
)
def test_another_form_of_a_name_is_no_missing_name(claim, context):
    assert "name" not in conflicts(claim, context)
    assert "name" in conflicts(claim, "The two moved, and the war ended.")


def test_a_wrong_month_may_is_noticed():
    claim, context = "The shop opens in May.", "The shop may open, as it opens in June."
    assert "name" in conflicts(claim, context)
    assert verify_claims([claim], [context])[0].label is not Label.SUPPORTED
    (right,) = verify_claims([claim], [context.replace("June", "May")])
    assert right.label is Label.SUPPORTED
    assert conflicts("You may return the lamp.", "They ask if you can return it. I may.") == {}
    assert conflicts("Ms May left.", "May left.") == {}
