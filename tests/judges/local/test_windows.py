"""What of long contexts is really put to a model, whatever a tokenizer does with blanks."""

import random
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import each_case
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from ragstone._internal.sentences import split_sentences
from ragstone.judges.local import EntailmentJudge
from ragstone.judges.local.judge import Window, make_windows, split_spans
from ragstone.judges.local.model import LocalSettings

TWO = ["One two. Three.", "Four five."]
REPEATED = ["A b c d e f. G h.", "G h. I j k l m n.", "O p."]


def starts(text: str) -> list[int]:
    """A token is a word here."""
    return [match.start() for match in re.finditer(r"\S+", text)]


def windows(contexts: list[str], room: int, *, join: bool = False) -> list[Window]:
    return make_windows(contexts, split_spans(contexts, starts, room), room, join=join)


@each_case(
    ("contexts", "room", "join", "texts"),
    [
        (TWO, 10, False, TWO),
        (TWO, 10, True, ["One two. Three.\nFour five."]),
        # a short last sentence is repeated in the next window, a long one is not
        (["A b c d e f. G h. I j k l m n. O p."], 8, False, REPEATED),
        (["A b c d. E f g h. I j k l."], 8, False, ["A b c d. E f g h.", "I j k l."]),
        # a sentence longer than the room is cut between tokens
        (["a b c d e f g h i j"], 4, False, ["a b c d", "e f g h", "i j"]),
        (["", "  "], 4, False, []),
    ],
)
def test_contexts_are_cut_at_sentences_into_windows_of_their_own(contexts, room, join, texts):
    made = windows(contexts, room, join=join)
    assert [each.text.strip() for each in made] == texts
    for window in made:
        for each in window.spans:
            assert contexts[each.context][each.start : each.end].strip() in window.text


def places(made: Iterable[Window]) -> set[tuple[int, int]]:
    """Return each context's number and the places in it that are shown."""
    return {
        (each.context, place)
        for window in made
        for each in window.spans
        for place in range(each.start, each.end)
    }


@given(
    st.lists(st.text(alphabet="aB. \n", max_size=80), max_size=4), st.integers(3, 20), st.booleans()
)
def test_no_token_is_lost_and_no_window_is_too_long(contexts: list[str], room: int, join: bool):
    made = windows(contexts, room, join=join)
    due = {(n, start) for n, context in enumerate(contexts) for start in starts(context)}
    assert due <= places(made)
    assert all(sum(each.tokens for each in window.spans) <= room for window in made)


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


@pytest.mark.parametrize("kind", ["trimmed", "bytes", "metaspace"])
def test_every_sentence_is_shown_whole(make_model, kind: str) -> None:
    tokenizer, folder = trained(kind), make_model("nli")
    for between in BETWEEN if kind != "metaspace" else (" ",):
        context = between.join(SENTENCES)
        sentences = [each.text for each in split_sentences(context)]
        assert len(sentences) > 390
        for length in (512, 160):
            texts = shown(folder, tokenizer, [context], length=length)
            lost = [each for each in sentences if not any(each in text for text in texts)]
            assert lost == []
            needed = len(tokenizer.encode(context).ids) / length
            assert len(texts) <= 1.4 * needed + 1, "little more is asked than the tokens demand"


@each_case("context", [" ".join(SENTENCES), "x" * 3000, "水" * 900])
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
    sentences = [each.text for each in split_sentences(context) if len(each.text) < 900]
    assert all(any(sentence in text for text in texts) for sentence in sentences)
    due = {(0, place) for place, letter in enumerate(context) if letter.strip()}
    assert due <= places(window for window, _ in asked)
