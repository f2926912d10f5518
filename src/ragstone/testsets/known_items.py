"""Known-item queries: rare words of one chunk, which a retriever should find. No model is used."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice, zip_longest

from ragstone._internal.sentences import split_sentences
from ragstone.judges.offline.words import Word, guess_language, split_forms, split_words, stem
from ragstone.testsets.candidates import shuffled_chunks
from ragstone.testsets.documents import Chunk, Span
from ragstone.testsets.index import ChunkIndex, terms_of
from ragstone.testsets.noise import function_words

WORDS = 4
"""Words of a query."""
FEWEST_WORDS = 2
MOST_CHUNKS = 3
"""Chunks that may have all words of a query; with more, it names no item."""


@dataclass(frozen=True)
class KnownItem:
    """A query for one chunk.

    Attributes:
        relevant: the chunks that have all its words; the first is the one it was made from.
        span: the sentence with most of its words.
    """

    query: str
    relevant: tuple[Chunk, ...]
    span: Span
    language: str


def known_items(index: ChunkIndex, n: int, *, seed: int = 0) -> list[KnownItem]:
    shuffled = shuffled_chunks(index.corpus, seed)
    by_document = [_items_of(index, chunks) for chunks in shuffled.values()]
    found: dict[str, KnownItem] = {}
    for turn in zip_longest(*by_document):
        for item in filter(None, turn):
            found.setdefault(item.query.casefold(), item)
        if len(found) >= n:
            break
    return list(islice(found.values(), n))


def _items_of(index: ChunkIndex, chunks: list[Chunk]) -> Iterator[KnownItem]:
    words = {chunk.id: _rare_words(index, chunk) for chunk in chunks}
    for turn in count():
        left = [c for c in chunks if len(words[c.id]) >= turn * WORDS + FEWEST_WORDS]
        if not left:
            return
        for chunk in left:
            chosen = words[chunk.id][turn * WORDS :][:WORDS]
            if item := _item(index, chunk, sorted(chosen, key=lambda word: word.start)):
                yield item


def _rare_words(index: ChunkIndex, chunk: Chunk) -> list[Word]:
    language = guess_language(chunk.text, split_forms(chunk.text))
    plain = function_words(language)
    first: dict[str, Word] = {}
    for word in split_words(chunk.text):
        if word.form not in plain and not word.form.isdigit() and len(word.form) > 1:
            first.setdefault(stem(word.form), word)
    return sorted(first.values(), key=lambda word: (index.frequency(stem(word.form)), word.start))


def _item(index: ChunkIndex, chunk: Chunk, words: list[Word]) -> KnownItem | None:
    terms = {stem(word.form) for word in words}
    others = [
        hit.chunk
        for hit in index.search_terms(terms, len(index.corpus.chunks))
        if hit.chunk.id != chunk.id
        and terms.issubset(terms_of(f"{hit.chunk.heading}\n{hit.chunk.text}"))
    ]
    if len(words) < FEWEST_WORDS or len(others) >= MOST_CHUNKS:
        return None
    sentences = split_sentences(chunk.text)
    best = max(sentences, key=lambda each: len(terms.intersection(terms_of(each.text))))
    return KnownItem(
        " ".join(word.shown for word in words),
        (chunk, *others),
        Span(chunk.document, chunk.start + best.start, chunk.start + best.end),
        guess_language(chunk.text, split_forms(chunk.text)).name,
    )
