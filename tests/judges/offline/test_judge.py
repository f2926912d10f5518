from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import each_case
from tests.judges.each_question import QUESTIONS

from ragstone.errors import JudgeError, QuestionNotSupportedError
from ragstone.judges.offline import OfflineJudge, OfflineSettings
from ragstone.judges.offline.judge import (
    abstains,
    grade_contexts,
    probability,
    read_weights,
    verify_claims,
)
from ragstone.judges.offline.matching import Features
from ragstone.types.claim import Label
from ragstone.types.questions import (
    ExtractClaims,
    FindAnswer,
    TextSimilarity,
    VerifyClaims,
)
from ragstone.types.reply import Usage


async def verify(claims, contexts):
    question = VerifyClaims(claims=tuple(claims), contexts=tuple(contexts))
    return (await OfflineJudge().answer(question)).value


async def extract(response):
    return (await OfflineJudge().answer(ExtractClaims(query="?", response=response))).value


def test_says_what_it_is():
    accuracy = f"balanced accuracy {read_weights()['balanced_accuracy']:.0%}; "
    for said in (accuracy, "about as good as word overlap; ", "do not gate releases on it"):
        assert said in OfflineJudge().description


ALL = [TextSimilarity(text="a", others=("b",)), *QUESTIONS.values()]
REFUSED = {"text_similarity", "extract_truths", "explain", "grade_sentences"}
REFUSED |= {"generate_queries", "rate_response", "write_questions"}


@each_case(
    ("query", "context", "quote"),
    [
        ("How fast does the Tarn 4 charge?", "Yes. The Tarn 4 charges fast. Now.", slice(5, 29)),
        ("How fast does the Tarn 4 charge?", "The Tarn 3 charges fast.", None),
        ("How fast does the Orvane charge? Does the Orvane?", "The phone charges fast.", None),
        ("Which colour has the box?", "The box is heavy.", None),
        ("電池の交換費用は？", "電池の交換費用は59ユーロです。", slice(0, 16)),
        *(("What", "Nothing.", None), ("Is it blue?", "", None)),
    ],
)
async def test_a_context_with_the_words_of_a_query_may_answer_it(query, context, quote):
    question = FindAnswer(query=query, contexts=("Other text.", context))
    answer = (await OfflineJudge().answer(question)).value
    assert answer.found is (quote is not None)
    places = [(each.context, slice(each.start, each.end), each.quote) for each in answer.evidence]
    assert places == ([(1, quote, context[quote])] if quote else [])


async def test_answers_what_words_can_answer_and_refuses_the_others_by_name():
    assert OfflineJudge.kinds == {question.kind for question in ALL} - REFUSED
    for question in ALL:
        assert OfflineJudge().takes(question.kind) is (question.kind not in REFUSED)
        if question.kind in REFUSED:
            told = f"cannot answer {question.kind}: name another"
            with pytest.raises(QuestionNotSupportedError, match=told):
                await OfflineJudge().answer(question)
        else:
            assert (await OfflineJudge().answer(question)).usage == Usage()


TEXTS = st.text("ab 1.,%-'\"\n\0*#|[]?!；。不没नहीก็é\ud800\u0301", max_size=120)
WORDS = (
    "the lamp not no 35 minutes 22 hours on off before after Paris Berlin 5 May 2024 red, it. "
    "kein ne pas 不 没有 电池 ไม่ नहीं $5 10% half never Jan 1,000 2024-05-06 and without"
).split()
WORDY = st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join)
ANY = st.one_of(TEXTS, WORDY)


@given(st.lists(ANY, max_size=4), st.lists(ANY, max_size=4))
async def test_any_text_gets_one_sound_verdict_a_claim(claims, contexts):
    verdicts = await verify(claims, contexts)
    assert len(verdicts) == len(claims)
    assert verdicts == await verify(claims, contexts)
    for verdict in verdicts:
        assert verdict.label is not Label.PARTIALLY_SUPPORTED
        assert verdict.confidence is not None
        assert 0 <= verdict.confidence <= 1
        assert (verdict.reason is None) == (verdict.label is Label.SUPPORTED)
        assert verdict.evidence or verdict.label is Label.NOT_ENOUGH_INFO
        for evidence in verdict.evidence:
            assert evidence.verified
            assert evidence.quote == contexts[evidence.context][evidence.start : evidence.end]
            assert evidence.quote


@given(ANY)
async def test_any_text_gives_claims_that_stand_in_it_in_order(response):
    claims = await extract(response)
    spans = [claim.span for claim in claims]
    assert spans == sorted(spans)
    assert claims == await extract(response)
    for claim in claims:
        start, end = claim.span
        assert claim.text == response[start:end]
        assert claim.text == claim.text.strip() != ""


HOSTILE = ["a", "电", "1", "1 ", "not ", ".", "\n", "\0", "\ud800", "a\u0301", "**", "[1", "No, "]


@pytest.mark.parametrize("piece", HOSTILE, ids=ascii)
async def test_a_long_text_ends_soon(piece, huge):
    text = (piece * huge)[:huge]
    await verify(["The lamp is not red for 12 minutes."], [text])
    await verify([text], ["The lamp is red for 12 minutes."])
    await extract(text)


ANSWER = "The battery lasts 20 hours. The case is made of metal."


def relevant(answer, contexts):
    return [grade.relevant for grade in grade_contexts(answer, contexts)]


def test_a_context_that_supports_a_claim_is_relevant_and_the_reason_says_which():
    contexts = ("The case is made of brushed metal.", "It ships in May.", "It lasts 20 hours.")
    first, second, third = grade_contexts(ANSWER, contexts)
    assert (first.relevant, second.relevant, third.relevant) == (True, False, True)
    assert first.reason == "it supports: The case is made of metal."
    assert second.reason == "it supports no claim of the answer"


def test_what_another_context_says_much_better_does_not_count():
    near = "The battery lasts long, and it has a case of some kind."
    contexts = (near, "The battery lasts 20 hours in all.")
    assert relevant("The battery lasts long.", [near]) == [True]
    first, second = grade_contexts("The battery of the phone lasts 20 hours in all.", contexts)
    assert (first.relevant, second.relevant) == (False, True)


@each_case(
    ("answer", "right", "wrong"),
    [
        ("1890", "It was built in 1890.", "It was built in 1891."),
        ("Brasilia", "The capital is Brasília.", "Rio is large."),
        ("Up to 30 seconds.", "The exposure takes up to 30 seconds.", "It takes 3 seconds."),
        ("电池", "电池很好。", "手机很好。"),
        ("The battery lasts 20 hours.", "It lasts 20 hours.", "The battery lasts 12 hours."),
    ],
)
def test_an_answer_too_short_to_be_a_claim_is_looked_for_as_it_is(answer, right, wrong):
    assert relevant(answer, [wrong, right, wrong, right]) == [False, True, False, True]


@each_case("answer", ["I don't know.", "No.", "", "Je ne sais pas."])
def test_an_answer_that_states_nothing_makes_no_context_relevant(answer):
    assert relevant(answer, ["I know.", "No way, je sais.", ""]) == [False, False, False]
    assert relevant(answer, []) == []


@given(WORDY, st.lists(WORDY, max_size=4))
def test_there_is_one_grade_a_context_and_the_order_does_not_matter(answer, contexts):
    grades = grade_contexts(answer, contexts)
    assert len(grades) == len(contexts)
    assert grade_contexts(answer, contexts[::-1]) == grades[::-1]
    assert all(grade.reason for grade in grades)


ABSTENTIONS = (
    "I don't know.|I'm sorry, but I could not find anything about that in the support guides.|"
    "**I'm not sure.**|"
    "Hello! I don't have any information on that. Can I help you with something else?|"
    "The document does not mention the price.|The guides do not cover this.|"
    "The guides do not cover the keyboard or its languages.|The guide does not include this [1].|"
    "The manual does not contain any information about that.|I cannot help with that.|"
    "I'm sorry, but I'm unable to assist you with this request.|No lo sé.|Je ne sais pas.|"
    "Ich konnte dazu keine Informationen finden.|我不知道。|わかりません"
).split("|")
ANSWERS = (
    "|Sure!|Hello! How can I help you?|The battery lasts 20 hours.|It depends.|"
    "I don't know the price, but the battery lasts 20 hours.|We do not ship to Norway.|"
    "I don't know. The battery lasts 20 hours.|The warranty does not cover water damage.|"
    "The warranty does not cover this.|The guide does not include a map of the town.|"
    "We cannot help with lost luggage.|I cannot help with that, but the battery lasts 20 hours."
).split("|")


@each_case(
    ("abstained", "response"),
    [*((True, each) for each in ABSTENTIONS), *((False, each) for each in ANSWERS)],
)
def test_a_response_abstains_that_only_says_that_it_does_not_know(abstained, response):
    assert bool(abstains(response)) is abstained


S, N = Label.SUPPORTED, Label.NOT_ENOUGH_INFO

KETTLE = (
    (
        "The kettle boils one litre of water in 22 minutes. Its cord is fixed and cannot be "
        "detached. It was first sold on 5 March 2019 by Arvid Holm in Uppsala, at a price of $49."
    ),
    "Rinse the kettle with vinegar before the first use. The lid opens when the button is pressed.",
)


@each_case(
    ("claim", "label", "reason"),
    [
        ("The kettle boils one litre of water in 22 minutes.", S, None),
        ("In 22 min, a litre of water is boiled.", S, None),
        ("The kettle boils water in 35 minutes.", N, "35 minutes, but the text says 22 minutes"),
        ("The kettle boils water in 2 hours.", N, "2 hours, but the text says 22 minutes"),
        ("It was first sold on 6 March 2019.", N, "6, but the text says 5"),
        ("It was first sold on March 5, 2019.", S, None),
        ("It was first sold in 2019 at a price of 49 dollars.", S, None),
        ("It was first sold at a price of $59.", N, "$59, but the text says $49"),
        ("The cord can be detached.", N, "only the text negates 'detached'"),
        ("The cord cannot be detached.", S, None),
        ("It was first sold by Arvid Lund in Uppsala.", N, "no sentence covers: Lund"),
        ("Rinse the kettle with vinegar after the first use.", S, None),  # opposites are
        ("The lid closes when the button is pressed.", S, None),  # not noticed
        ("Birdsong plays at sunrise.", N, "no sentence covers: "),
        *((nothing, N, "") for nothing in ("", "...", "It is so.", "\0")),
    ],
)
def test_english(claim, label, reason):
    (verdict,) = verify_claims([claim], KETTLE)
    assert verdict.label is label, verdict.reason
    assert verdict.reason is None if reason is None else reason in (verdict.reason or "")


@each_case(
    ("context", "claim", "label"),
    [
        ("Der Kocher kocht einen Liter in 22 Minuten.", "Ein Liter kocht in 22 Minuten.", S),
        ("Der Kocher kocht einen Liter in 22 Minuten.", "Ein Liter kocht in 35 Minuten.", N),
        ("Das Gehäuse ist wasserdicht.", "Das Gehäuse ist nicht wasserdicht.", N),
        ("Erschienen am 5. März 2019.", "Es ist am 6. März 2019 erschienen.", N),
        ("La coque est étanche.", "La coque n'est pas étanche.", N),
        ("La pantalla es resistente al agua.", "La pantalla no es resistente al agua.", N),
        ("A garantia cobre a bateria.", "A garantia não cobre a bateria.", N),
        ("Чайник кипятит литр воды за 22 минуты.", "Литр воды кипятится за 22 минуты.", S),
        ("Чайник кипятит литр воды за 22 минуты.", "Чайник кипятит литр воды за 35 минут.", N),
        ("Pin dùng được 10 giờ.", "Pin dùng được 12 giờ.", N),
        ("这款水壶22分钟烧开一升水。", "水壶22分钟烧开一升水。", S),
        ("这款水壶22分钟烧开一升水。", "水壶35分钟烧开一升水。", N),
        ("充電には22分かかります。", "充電には35分かかります。", N),
        ("แบตเตอรี่ใช้งานได้ 10 ชั่วโมง", "แบตเตอรี่ใช้งานได้ 12 ชั่วโมง", N),
        ("बैटरी 10 घंटे चलती है।", "बैटरी 10 घंटे नहीं चलती है।", N),
        ("البطارية قابلة للإزالة.", "البطارية ليست قابلة للإزالة.", N),
    ],
)
def test_other_languages(context, claim, label):
    (verdict,) = verify_claims([claim], [context])
    assert verdict.label is label, verdict.reason


def test_one_sentence_or_two_together_can_support_a_claim():
    home, car = "Charging takes 22 minutes at home.", "Charging takes 90 minutes in the car."
    lamp = "The red lamp stands in the hall. It was painted by Ines Moreau."
    for claim, context, quote in (
        ("The red lamp in the hall was painted by Ines Moreau.", lamp, lamp),
        (car, f"{home} {car}", car),
        ("Charging takes 1,5 h in the car.", car, car),
    ):
        (verdict,) = verify_claims([claim], ["Water is wet.", context])
        assert verdict.label is S
        (evidence,) = verdict.evidence
        assert (evidence.context, evidence.quote) == (1, quote)
        assert context[evidence.start : evidence.end] == quote


def test_nothing_to_read_is_not_enough():
    for contexts in ([], [""], ["  ", "\n"]):
        (verdict,) = verify_claims(["The lid opens."], contexts)
        assert (verdict.label, verdict.reason) == (N, "there is no text")


def test_the_probability_is_the_logistic_function_times_the_factors_of_conflicts(monkeypatch):
    learned = {"offset": -1.0, "coverage": 2.0, "anywhere": 0.5, "first_person": -3.0}
    weights = {**learned, "figure": 0.3, "name": 0.4}
    monkeypatch.setattr("ragstone.judges.offline.judge.read_weights", lambda: weights)
    assert probability(Features(), []) == pytest.approx(1 / (1 + exp(1)))
    features = Features(coverage=0.75, anywhere=1.0)  # -1 + 1.5 + 0.5
    likely = 1 / (1 + exp(-1))
    assert probability(features, []) == pytest.approx(likely)
    assert probability(features, ["figure", "name"]) == pytest.approx(0.12 * likely)


async def test_the_threshold_is_an_option():
    question = VerifyClaims(
        claims=("The red lamp is in Oslo.",), contexts=("The red lamp stands in the hall.",)
    )
    names, labels = [], []
    for options in ({}, {"threshold": "0.05"}):
        judge = OfflineJudge(OfflineSettings.of(options))
        names.append(judge.name)
        labels.append((await judge.answer(question)).value[0].label)
    assert names == ["offline", "offline,threshold=0.05"]
    assert labels == [Label.NOT_ENOUGH_INFO, Label.SUPPORTED]


def test_new_weights_are_another_setup(monkeypatch: pytest.MonkeyPatch) -> None:
    before = OfflineJudge().setup("verify_claims")
    monkeypatch.setattr("ragstone.judges.offline.words.read_file", lambda _: "{}")
    assert before != OfflineJudge().setup("verify_claims")
    assert OfflineJudge().identity("verify_claims") is None  # no reply is cached


@each_case(
    ("context", "is_data"),
    [
        ('{"name": "Bo", "OutdoorSeating": false, "hours": {"Monday": "9:0"}}', True),
        ('[{"name": "Bo"}]', True),
        ("name,role,office\nIda,engineer,Oslo\nTom,designer,Rome", True),
        ("| Day | Open |\n|---|---|\n| Monday | 9:00 |", True),
        ("In Graz, Linz and Wels, it rains.\nIt rains, snows, and hails.\nIt is, too, now.", False),
        *((text, False) for text in ("- one lamp\n- two lamps", '["It rains."]', "{red} is it")),
    ],
)
async def test_data_is_not_judged_offline(context, is_data):
    if is_data:
        said = "not judged offline: JSON or a table is in the context"
        with pytest.raises(JudgeError, match=said):
            await verify(["It offers outdoor seating."], [context])
        context = f"{context}\n", "It opens at nine."
    assert await verify(["It opens."], [*context] if is_data else [context])
