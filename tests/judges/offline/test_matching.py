from ragstone.judges.offline.judge import read_claims, verify_claims
from ragstone.judges.offline.matching import ContextIndex, Features, compute_features, match_claim
from ragstone.types.claim import Label


def matched(claim, *contexts):
    (read,) = read_claims([claim])
    return read, match_claim(read, ContextIndex(contexts))


def test_the_window_is_the_sentence_or_the_two_that_have_most_of_the_claim():
    text = "It rains. The red lamp stands in the hall. Ines Moreau painted it. It is late."
    _, match = matched("The red lamp stands in the hall.", text)
    assert match.window == range(1, 2)
    _, match = matched("Ines Moreau painted the red lamp in the hall.", text)
    assert match.window == range(1, 3)
    _, match = matched("Ines painted the lamp.", "The red lamp stands here.", "Ines painted it.")
    assert len(match.window) == 1, "two contexts are never one window"
    assert matched("Birdsong plays.", "The lid opens.")[1] is None


def test_rare_words_weigh_more_than_common_ones_and_names_more_than_these():
    claim, _ = matched("The government of Moreau bought zirconium.", "It rains.")
    weights = claim.terms
    assert weights["the"] < weights["governme"] < weights["zirconiu"] == 1 < weights["moreau"]
    assert claim.names == {"moreau"}


def test_a_figure_counts_only_in_a_sentence_about_the_claim():
    claim = "The tower weighs 900 kg."
    _, match = matched(claim, "The tower weighs a lot. A horse has 900 kg.")
    assert 0 not in match.anywhere
    _, match = matched(claim, "The tower is heavy: it weighs 900 kg.")
    assert 0 in match.anywhere


def test_another_context_that_agrees_rules_a_conflict_out():
    contexts = ["The tower weighs 2500 kg.", "They say that the tower weighs 1800 kg."]
    (verdict,) = verify_claims(["The tower weighs 1800 kg."], contexts)
    assert verdict.label is Label.SUPPORTED


LAMP = "The red lamp stands in the hall. Ines Moreau painted it in 1911."


def features(claim, *contexts):
    return compute_features(*matched(claim, *contexts))


def test_what_the_window_does_not_have_may_be_anywhere_else():
    assert features("The red lamp stands in the hall.", LAMP) == (1, 1, 0)
    far = features("Ines Moreau painted the lamp in Oslo.", LAMP, "It rains. Oslo is far.")
    assert far.coverage < far.anywhere == 1
    few = features("Ines Moreau painted the lamp in Oslo.", LAMP)
    assert few.anywhere < far.anywhere
    assert features("I love the red lamp.", LAMP).first_person == 1
    assert features("The lamp is lovely.", LAMP).first_person == 0
    assert features("Birdsong plays.", "The lid opens.") == Features()


def test_contexts_in_another_order_or_cut_elsewhere_have_the_same_features():
    first, second = LAMP.split(". ")
    claim = "The red lamp stands in the garden of Ines Moreau."
    whole = features(claim, f"{first}.", second)
    assert whole == features(claim, second, f"{first}.")
