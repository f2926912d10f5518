"""What of long contexts is really put to a model, whatever a tokenizer does with blanks."""

import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from ragstone._internal.sentences import split_sentences
from ragstone.judges.local import EntailmentJudge
from ragstone.judges.local.judge import Window, make_windows, split_spans
from ragstone.judges.local.model import LocalSettings


def starts(text: str) -> list[int]:
    """A token is a word here."""
    return [match.start() for match in re.finditer(r"\S+", text)]


def windows(contexts: list[str], room: int, *, join: bool = False) -> list[Window]:
    return make_windows(contexts, split_spans(contexts, starts, room), room, join=join)


def test_contexts_have_windows_of_their_own() -> None:
    contexts = ["One two. Three.", "Four five."]
    assert [each.text for each in windows(contexts, 10)] == contexts


def test_short_contexts_share_a_window_where_they_are_joined() -> None:
    [window] = windows(["One two. Three.", "Four five."], 10, join=True)
    assert window.text == "One two. Three.\nFour five."
    assert [each.context for each in window.spans] == [0, 0, 1]


def test_a_short_last_sentence_is_repeated_in_the_next_window() -> None:
    texts = [each.text for each in windows(["A b c d e f. G h. I j k l m n. O p."], 8)]
    assert texts == ["A b c d e f. G h.", "G h. I j k l m n.", "O p."]


def test_a_long_one_is_not() -> None:
    texts = [each.text for each in windows(["A b c d. E f g h. I j k l."], 8)]
    assert texts == ["A b c d. E f g h.", "I j k l."]


def test_a_sentence_longer_than_the_room_is_cut_between_tokens() -> None:
    texts = [each.text.strip() for each in windows(["a b c d e f g h i j"], 4)]
    assert texts == ["a b c d", "e f g h", "i j"]


def test_blank_contexts_make_no_window() -> None:
    assert windows(["", "  "], 4) == []


@given(
    st.lists(st.text(alphabet="aB. \n", max_size=80), max_size=4), st.integers(3, 20), st.booleans()
)
def test_no_token_is_lost_and_no_window_is_too_long(
    contexts: list[str], room: int, join: bool
) -> None:
    made = windows(contexts, room, join=join)
    covered = {
        (each.context, place)
        for window in made
        for each in window.spans
        for place in range(each.start, each.end)
    }
    for number, context in enumerate(contexts):
        for start in starts(context):
            assert (number, start) in covered
    for window in made:
        assert sum(each.tokens for each in window.spans) <= room


@pytest.mark.parametrize("room", [3, 5, 100])
def test_places_are_those_of_the_whole_contexts(room: int) -> None:
    contexts = ["First one. Second one here.", "Third."]
    for window in windows(contexts, room):
        for each in window.spans:
            assert contexts[each.context][each.start : each.end].strip() in window.text


# What of long contexts is really put to a model, whatever a tokenizer does with blanks.


CLAIM = "The boat of Anna sails at noon."
SPECIAL = ["<s>", "</s>"]
_chance = random.Random(7)
_WORDS = ["".join(_chance.choices("abdeilmnorstu", k=_chance.randint(2, 9))) for _ in range(300)]
BETWEEN = (" ", "\n", "\n\n", "\n\n\n    ")
SENTENCES = [
    " ".join(_chance.choices(_WORDS, k=_chance.randint(4, 14))).capitalize() + "."
    for _ in range(400)
]


def trained(kind: str) -> Tokenizer:
    """Train a tokenizer: `trimmed` as RoBERTa's, `bytes` as ModernBERT's, or by `metaspace`."""
    tokenizer = Tokenizer(models.BPE())
    alphabet = list[str]()
    if kind == "metaspace":
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        tokenizer.decoder = decoders.Metaspace()
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
    text = [*SENTENCES, CLAIM, "one\ntwo\n\nthree"]
    trainer = trainers.BpeTrainer(
        vocab_size=1500, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(text, trainer)
    begin, end = ((each, tokenizer.token_to_id(each)) for each in SPECIAL)
    if kind == "trimmed":
        tokenizer.post_processor = processors.RobertaProcessing(end, begin, trim_offsets=True)
    else:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[begin, end]
        )
    return tokenizer


def shown(folder: Path, tokenizer: Tokenizer, contexts: list[str], **said: object) -> list[str]:
    """Return the texts that a judge puts to its model beside the claim, decoded."""
    tokenizer.save(str(folder / "tokenizer.json"))
    judge = EntailmentJudge(str(folder), LocalSettings.model_validate(said))
    [asked] = judge._prepared([CLAIM], contexts)
    assert max(len(pair.ids) for _, pair in asked) <= judge._model.length
    texts: list[str] = []
    for window, pair in asked:
        context = tokenizer.decode(list(pair.ids[: pair.claim[0][0]])).strip()
        assert context == window.text
        texts.append(context)
    return texts


@pytest.mark.parametrize(
    ("kind", "between"),
    [
        *((kind, between) for kind in ("trimmed", "bytes") for between in BETWEEN),
        ("metaspace", " "),
    ],
)
@pytest.mark.parametrize("length", [512, 160])
def test_every_sentence_is_shown_whole(make_model, kind: str, between: str, length: int) -> None:
    tokenizer = trained(kind)
    context = between.join(SENTENCES)
    texts = shown(make_model("nli"), tokenizer, [context], length=length)
    sentences = [each.text for each in split_sentences(context)]
    assert len(sentences) > 390
    lost = [sentence for sentence in sentences if not any(sentence in text for text in texts)]
    assert lost == []


@pytest.mark.parametrize("kind", ["trimmed", "bytes"])
def test_many_contexts_that_share_windows_are_shown_whole(make_model, kind: str) -> None:
    texts = shown(make_model("nli"), trained(kind), SENTENCES, length=128, join=True)
    assert all(any(sentence in text for text in texts) for sentence in SENTENCES)
    assert len(texts) < len(SENTENCES) / 2


def test_little_more_is_asked_than_the_tokens_demand(make_model) -> None:
    tokenizer = trained("bytes")
    context = "\n\n".join(SENTENCES)
    texts = shown(make_model("nli"), tokenizer, [context], length=512)
    needed = len(tokenizer.encode(context).ids) / 512
    assert len(texts) <= 1.2 * needed + 1


@pytest.mark.parametrize("text", ["x" * 3000, "水" * 900, "é😀" * 300, " . " * 500])
@pytest.mark.parametrize("kind", ["trimmed", "bytes"])
def test_no_character_of_a_text_without_sentences_is_lost(make_model, kind: str, text: str) -> None:
    folder = make_model("nli")
    trained(kind).save(str(folder / "tokenizer.json"))
    judge = EntailmentJudge(str(folder), LocalSettings(length=96))
    [asked] = judge._prepared([CLAIM], [text])
    seen = {
        place
        for window, _ in asked
        for each in window.spans
        for place in range(each.start, each.end)
    }
    assert {place for place, letter in enumerate(text) if letter.strip()} <= seen


@pytest.mark.parametrize("context", [" ".join(SENTENCES), "x" * 3000, "水" * 900])
def test_what_takes_more_tokens_than_were_counted_is_cut_in_two_and_not_off(
    make_model, monkeypatch: pytest.MonkeyPatch, context: str
) -> None:
    folder = make_model("nli")
    trained("bytes").save(str(folder / "tokenizer.json"))
    judge = EntailmentJudge(str(folder), LocalSettings(length=160))
    counted = judge._model.starts
    monkeypatch.setattr(judge._model, "starts", lambda text: counted(text)[::2])
    [asked] = judge._prepared([CLAIM], [context])
    assert max(len(pair.ids) for _, pair in asked) <= 160
    texts = [window.text for window, _ in asked]
    assert all(
        any(sentence.text in text for text in texts) or len(sentence.text) >= 900
        for sentence in split_sentences(context)
    )
    places = {
        place
        for window, _ in asked
        for each in window.spans
        for place in range(each.start, each.end)
    }
    assert {place for place, letter in enumerate(context) if letter.strip()} <= places


@pytest.mark.parametrize("length", [16, 17, 24, 31, 34, 40])
def test_any_length_has_room_for_contexts_beside_a_short_claim(make_model, length: int) -> None:
    judge = EntailmentJudge(str(make_model("nli")), LocalSettings(length=length))
    [asked] = judge._prepared(["It"], ["The phone weighs 172 grams. It charges."])
    assert max(len(pair.ids) for _, pair in asked) <= length
    assert sum(len(window.spans) for window, _ in asked) >= 2
