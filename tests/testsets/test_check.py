import pytest

from ragstone.errors import Cause, UsageError
from ragstone.judges.base import Judge, ScriptedJudge
from ragstone.judges.offline import OfflineJudge
from ragstone.testsets import check_questions
from ragstone.testsets.check import CHECKS, SetCheck, check_samples, type_of
from ragstone.testsets.documents import Chunk, Corpus, Document
from ragstone.types.claim import Claim, Evidence, FoundAnswer, Grade, Label, Verdict
from ragstone.types.reply import Failure
from ragstone.types.sample import Sample

TEXTS = {
    "charge": "The Tarn 4 charges at up to 45 W with the Orvane charger. It takes 58 minutes.",
    "battery": "The battery is glued in. A service point replaces it for 59 euros in one day.",
    "water": "The Tarn 4 is water resistant to 1.5 metres for 30 minutes.",
    "camera": "The main camera of the Tarn 4 has 50 megapixels and an optical stabiliser.",
    "sim": "The tray holds two nano SIM cards, and the phone has no slot for memory cards.",
}
CORPUS = Corpus(
    {name: Document(name, text, "") for name, text in TEXTS.items()},
    tuple(Chunk(name, name, 0, len(text), "", text) for name, text in TEXTS.items()),
)


def row(query: str, reference: str | None, *ids: str, **tags: str) -> Sample:
    relevance = None if ids == ("?",) else dict.fromkeys(ids, 1.0)
    name = f"{query[:30]} {reference} {ids}"
    return Sample(id=name, query=query, reference=reference, relevance=relevance, tags=tags)


def found_in(*rows: Sample, corpus: Corpus = CORPUS, judge=None):
    check = check_questions(list(rows), corpus, judge=judge or "offline")
    assert {finding.check for finding in check.findings} <= CHECKS.keys()
    for finding in check.findings:
        assert all(span.text(corpus).strip() for span in finding.evidence)
    return check


def kinds(check) -> list[list[tuple[str, str]]]:
    return [[(f.check, f.severity) for f in row.findings] for row in check.rows]


WATTS = "The Tarn 4 charges at up to 45 W."
GOOD = row("How many watts does the Tarn 4 take?", WATTS, "charge")
BOTH = "A service point replaces the battery for 59 euros. The main camera has 50 megapixels."
COST = "What does a new battery cost, and how many megapixels has the Tarn 4?"
MULTI = row(COST, BOTH, "battery", "camera", type="multi-hop")


def test_good_rows_have_no_findings_and_show_their_support() -> None:
    none = row("Which colours are sold?", "Not stated.", type="Unanswerable")
    check = found_in(GOOD, MULTI, none)
    assert check.judge == OfflineJudge().name
    assert kinds(check) == [[], [], []]
    assert [each.status for each in check.rows] == ["valid"] * 3
    (span,) = check.rows[0].support
    assert span.text(CORPUS) == "The Tarn 4 charges at up to 45 W with the Orvane charger."
    assert {span.document for span in check.rows[1].support} == {"battery", "camera"}


def test_words_alone_refute_nothing() -> None:
    no = row("Has the phone a slot for memory cards?", "No.", "sim")
    check = found_in(no, Sample(id="1", query="Zanzibar elephants?"))
    for found, each in zip(kinds(check), check.rows, strict=True):
        assert ("unsupported", "warning") in found
        assert each.status == "valid"


def test_each_error_is_found_offline_with_its_evidence() -> None:
    watts, sims = "How many watts does the Tarn 4 take?", "The tray holds two nano SIM cards."
    pixels = "The main camera of the Tarn 4 has 50 megapixels."
    cold, water = "How long is the Tarn 4 resistant to cold salty water?", "Is the Tarn 4 water"
    for sample, wanted in (
        (row(watts, "The Tarn 4 charges at up to 65 W.", "charge"), "unsupported error"),
        (row("What sleeps there?", "Penguins sleep on the lake.", "battery"), "unsupported error"),
        (row(watts, WATTS, "water"), "wrong_id error"),
        (row(cold, None), "answerable warning"),
        (row(f"{water} resistant to 1.5 metres?", None), "answerable error"),
        (row("How many megapixels?", pixels, "camera", "sim", type="multi_hop"), "one_chunk error"),
        (row("What does the document say about the SIM tray?", sims, "sim"), "vague error"),
        (row("How long does it take?", "It takes 58 minutes.", "charge"), "vague warning"),
        (row("What happens at 59 euros?", "59 euros", "battery"), "answer_in_query error"),
        (row("The tray holds two nano SIM cards, has it?", sims, "sim"), "leak warning"),
        (row("How many SIM cards fit?", sims, "sim", "gone"), "unknown_id error"),
    ):
        check = found_in(GOOD, sample)
        assert tuple(wanted.split()) in kinds(check)[1], (sample.query, kinds(check)[1])
        assert kinds(check)[0] == []


def test_a_reference_that_does_not_answer_its_query_is_found_offline() -> None:
    check = found_in(
        row("Who is the king of France?", "It takes 58 minutes with the charger.", "charge"),
        row("Where may a broken kettle be thrown away?", WATTS, "charge"),
        row("How fast is the charger?", "Up to 45 W", "charge"),
        row("How much power does an adapter need?", WATTS, "charge"),
        row("What is the king of France called?", "45 W", "charge"),
    )
    assert kinds(check) == [[("off_topic", "error")], [("off_topic", "warning")], [], [], []]
    assert "no word in common" in check.rows[0].findings[0].message
    assert "may not answer the query" in check.rows[1].findings[0].message


async def test_a_model_is_asked_whether_the_reference_answers_the_query() -> None:
    judge = ScriptedJudge(
        {
            "extract_claims": lambda q: [Claim(text=q.response)],
            "verify_claims": lambda q: [Verdict(label=Label.SUPPORTED)] * len(q.claims),
            "grade_contexts": lambda q: [Grade(relevant=True)] * len(q.contexts),
            "find_answer": lambda q: FoundAnswer(found=q.contexts != (WATTS,)),
        }
    )
    rows = row("How many watts does it take?", WATTS, "charge"), row("How many?", "45 W", "charge")
    check = found_in(*rows, judge=judge)
    off_topic = [[each for each in found if each[0] == "off_topic"] for found in kinds(check)]
    assert off_topic == [[("off_topic", "error")], []]


def test_relevant_ids_are_corrected() -> None:
    moved = row("How many watts does the Tarn 4 take?", WATTS, "sim")
    extra = row("How many SIM cards fit?", "The tray holds two nano SIM cards.", "sim", "gone")
    answer = "A service point replaces the battery for 59 euros."
    none = row("What does it cost to replace a battery?", answer, "?")
    check = found_in(moved, extra, none)
    assert [each.status for each in check.rows] == ["corrected", "corrected", "valid"]
    found = [each.corrected.relevance for each in check.rows]
    assert found == [{"charge": 1.0}, {"sim": 1.0}, {"battery": 1.0}]
    assert check.rows[0].sample.relevance == {"sim": 1.0}


def test_relevant_ids_that_were_not_checked_are_not_replaced() -> None:
    unknown = GOOD.model_copy(update={"id": "1", "relevance": {"point-17": 1.0}})
    check = found_in(unknown, GOOD.model_copy(update={"id": "2", "relevance": None}))
    assert [each.relevance for each in check.rows] == [None, None]
    check = found_in(GOOD.model_copy(update={"relevance": {"charge": 2.0, "sim": 0.0}}))
    assert check.rows[0].relevance is None
    relevance = {"water": 2.0, "sim": 0.0, "gone": 0.0}
    check = found_in(GOOD.model_copy(update={"relevance": relevance}))
    assert check.rows[0].corrected.relevance == {"sim": 0.0, "gone": 0.0, "charge": 1.0}


def test_corrected_ids_are_names_of_documents_if_the_others_are() -> None:
    texts = {"a.md": TEXTS["charge"], "b.md": TEXTS["battery"]}
    corpus = Corpus(
        {name: Document(name, text, "") for name, text in texts.items()},
        tuple(Chunk(f"{n}#1", n, 0, len(text), "", text) for n, text in texts.items()),
    )
    right = GOOD.model_copy(update={"relevance": {"a.md": 1.0}})
    assert kinds(found_in(right, corpus=corpus)) == [[]], "a relevant id may be a document"
    for ids, wanted in (("b.md", "a.md"), ("b.md#1", "a.md#1"), ("gone", "a.md")):
        rows = [GOOD.model_copy(update={"id": "1", "relevance": {ids: 1.0}})]
        if ids == "gone":
            rows.append(GOOD.model_copy(update={"id": "2", "relevance": {"b.md": 1.0}}))
        check = found_in(*rows, corpus=corpus)
        assert check.rows[0].status == "corrected"
        assert check.rows[0].corrected.relevance == {wanted: 1.0}


def test_repeated_queries_are_found_but_not_variants() -> None:
    queries = (
        "How fast does the Tarn 4 charge?",
        "how fast does the tarn 4 chagre",
        "Please tell me how fast the Tarn 4 charges.",
        "How fast does the Tarn 5 charge?",
        "When does the Tarn 4 charge?",
        "How fast does the TARN 4  charge ?",
        "Is the charger lighter than the battery?",
        "Is the battery lighter than the charger?",
    )
    rows = [Sample(id=str(n), query=query) for n, query in enumerate(queries, 1)]
    variant = Sample(id="9", query=queries[0], tags={"variant_of": "1"})
    check = found_in(*rows, variant)
    repeated = {f.row: f.severity for f in check.findings if f.check == "duplicate"}
    assert repeated == {"2": "warning", "3": "warning", "6": "error", "8": "warning"}


def test_the_type_of_a_row() -> None:
    unknown = ("I don't know.", "I do not know that.")
    several = [Sample(id="1", query="q", reference=each) for each in ((*unknown, "5"), unknown)]
    types: dict[str, list[Sample]] = {
        "single": [row("q?", "r", "a"), row("q?", "r", "a", type="multi-turn"), several[0]],
        "multi": [row("q?", "r", "a", synthesizer_name="MultiHopAbstractQuerySynthesizer")],
        "unanswerable": [row("q?", None), row("q?", "r", question_type="Out of scope"), several[1]],
    }
    for wanted, samples in types.items():
        assert {type_of(sample) for sample in samples} == {wanted}


async def checked(judge: Judge, *rows: Sample, corpus: Corpus = CORPUS) -> SetCheck:
    return await check_samples(rows, corpus, judge, name="x", concurrency=1)


async def test_a_judge_that_fails_is_a_finding_and_never_a_pass() -> None:
    late = Failure(Cause.TIMEOUT, "no reply for 60 s")
    asked = ("extract_claims", "verify_claims", "grade_contexts", "find_answer")
    check = await checked(ScriptedJudge(dict.fromkeys(asked, late)), GOOD, row("Colours?", None))
    assert kinds(check) == [[("not_checked", "error")]] * 2
    message = check.rows[0].findings[0].message
    assert message == "not checked: extract_claims: timeout: no reply for 60 s"
    assert [each.status for each in check.rows] == ["unchecked"] * 2
    split = ScriptedJudge({"find_answer": FoundAnswer(found=False, split=True)})
    check = await checked(split, row("Is the Tarn 4 blue?", None))
    assert kinds(check) == [[("not_checked", "error")]]


async def test_a_judge_that_is_down_is_not_asked_about_every_row() -> None:
    judge = ScriptedJudge({"extract_claims": Failure(Cause.UNREACHABLE, "connection refused")})
    rows = [GOOD.model_copy(update={"id": str(n), "query": f"{GOOD.query} {n}"}) for n in range(30)]
    check = await checked(judge, *rows)
    assert len(judge.asked) < 25
    assert [each[-1] for each in kinds(check)] == [("not_checked", "error")] * 30
    assert "consecutive rows failed (unreachable)" in check.findings[-1].message


async def test_a_judge_decides_what_words_cannot() -> None:
    def verify(question):
        text = question.contexts[0]
        quote = Evidence(context=0, start=0, end=4, quote=text[:4], verified=True)
        return [Verdict(label=Label.SUPPORTED, evidence=(quote,))] * len(question.claims)

    replies: dict[str, object] = {
        "extract_claims": [Claim(text="It may be swapped.")],
        "verify_claims": verify,
        "grade_contexts": lambda q: [Grade(relevant="glued" in each) for each in q.contexts],
        "find_answer": FoundAnswer(found=False),
    }
    query = "May I swap the battery of the Tarn 4?"
    check = await checked(ScriptedJudge(replies), row(query, "No.", "battery", "sim"))
    assert kinds(check) == [[("wrong_id", "error")]]
    assert check.rows[0].corrected.relevance == {"battery": 1.0}
    assert check.judge == "scripted"
    replies["grade_contexts"] = lambda q: [Grade(relevant=True) for _ in q.contexts]
    check = await checked(ScriptedJudge(replies), row(query, "No.", "battery"))
    assert kinds(check) == [[("other_chunk", "warning")]]
    assert check.rows[0].status == "corrected"
    assert check.rows[0].corrected.relevance == dict.fromkeys(TEXTS, 1.0)


async def test_invented_quotes_show_no_chunk() -> None:
    invented = Evidence(context=0, quote="It is blue.", verified=False)
    answer = FoundAnswer(found=True, answer="blue", evidence=(invented,))
    judge = ScriptedJudge({"find_answer": answer, "grade_contexts": []})
    rows = [row("Is the Tarn 4 blue?", None, "?"), row("Is the Tarn 4 blue now?", None)]
    check = await checked(judge, *rows)
    assert kinds(check) == [[("not_checked", "error")], [("answerable", "error")]]
    assert "quotes are in no chunk" in check.findings[0].message
    assert "in the documents: 'blue'" in check.findings[1].message
    assert check.rows[0].relevance is None


def test_what_concerns_the_whole_set_is_noted_once() -> None:
    other = [Sample(id=str(n), query=f"What is {n}?", relevance={f"x{n}": 1.0}) for n in range(5)]
    check = found_in(*other)
    assert len(check.notes) == 2
    assert "no row has a reference" in check.notes[0]
    assert "no relevant id is that of a chunk" in check.notes[1]
    assert not any(f.check == "unknown_id" for f in check.findings)
    with pytest.raises(UsageError):
        check_questions([GOOD], CORPUS, judge="nonsense:")


def test_one_accepted_answer_that_the_documents_support_is_enough() -> None:
    dark = "It glows in the dark."
    for ids in (("charge",), ("?",)):
        several = row(GOOD.query, None, *ids).model_copy(update={"reference": (dark, WATTS)})
        assert kinds(found_in(several)) == [[]]
        neither = several.model_copy(update={"reference": (dark, "It is sold in 9 colors.")})
        assert ("unsupported", "error") in kinds(found_in(neither))[0]
