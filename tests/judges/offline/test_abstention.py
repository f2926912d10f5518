from tests.cases import each_case

from ragstone.judges.offline.judge import abstains


@each_case(
    "response",
    [
        "I don't know.",
        "I'm sorry, but I could not find anything about that in the support guides.",
        "**I'm not sure.**",
        "Hello! I don't have any information on that. Can I help you with something else?",
        "The document does not mention the price.",
        "The guides do not cover this.",
        "The guides do not cover the keyboard or its languages.",
        "The manual does not contain any information about that.",
        "The guide does not include this [1].",
        "I cannot help with that.",
        "I'm sorry, but I'm unable to assist you with this request.",
        "Ich konnte dazu keine Informationen finden.",
        "Je ne sais pas.",
        "No lo sé.",
        "我不知道。",
        "わかりません",
    ],
)
def test_a_response_that_only_says_that_it_does_not_know_abstains(response):
    assert abstains(response)


@each_case(
    "response",
    [
        "",
        "Sure!",
        "Hello! How can I help you?",
        "The battery lasts 20 hours.",
        "I don't know the price, but the battery lasts 20 hours.",
        "I don't know. The battery lasts 20 hours.",
        "We do not ship to Norway.",
        "The warranty does not cover water damage.",
        "The warranty does not cover this.",
        "The guide does not include a map of the town.",
        "We cannot help with lost luggage.",
        "I cannot help with that, but the battery lasts 20 hours.",
        "It depends.",
    ],
)
def test_one_that_states_something_or_says_nothing_of_the_kind_does_not(response):
    assert not abstains(response)


def test_a_long_response_ends_soon():
    assert not abstains("sorry " * 200_000)
