"""Documents: files as text, cut into chunks. Every place refers to the extracted text."""

import logging
import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser
from io import BytesIO
from os import PathLike
from pathlib import Path
from types import MappingProxyType

from ragstone._internal.fields import document_id
from ragstone._internal.sentences import split_sentences
from ragstone._internal.text import count, listing, one_line, strip_controls
from ragstone.datasets.dataset import LOADERS
from ragstone.datasets.excel import Archive
from ragstone.datasets.table import OLE, ZIP, File, Record
from ragstone.datasets.values import Plain, normalize_cell
from ragstone.datasets.values import text as cell_text
from ragstone.errors import InputError, Problem, UsageError, nearest
from ragstone.judges.offline.words import split_forms

CHUNK_WORDS = 200
"""Words of a chunk by default, about."""
LONGEST_PIECE = 8
"""Characters of a sentence, per word of a chunk, from which the sentence is cut."""
EXTRA = "ragstone[documents]"
CHUNK_FILES = (".jsonl", ".ndjson", ".parquet")
"""Files whose rows are chunks."""
ID_NAMES = ("id", "_id", "chunk_id", "doc_id", "docid", "point_id")
TEXT_NAMES = ("text", "content", "contents", "page_content", "chunk")
DOCUMENT_NAMES = ("document", "source", "file", "source_file")
TITLE_NAMES = ("title", "heading")


@dataclass(frozen=True)
class Document:
    """One document.

    Attributes:
        name: its path below the folder that was read, with `/`; of chunks in a file, their
            `document`, or else the chunk's id.
        text: the extracted text, to which all places refer.
        sha256: of the file's bytes, in hex; of the text if the document came as chunks.
    """

    name: str
    text: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a document: `text` is the document's text from `start` to `end`.

    Attributes:
        id: unique in the corpus: `guide.md#3` is the third chunk of guide.md. Chunks that were
            read from a file have the id that the file gives.
        heading: the headings above it, such as `Battery > Charging`; empty without any.
    """

    id: str
    document: str
    start: int
    end: int
    heading: str
    text: str


@dataclass(frozen=True)
class Span:
    """A place in a document's text; the end is exclusive."""

    document: str
    start: int
    end: int

    def text(self, corpus: "Corpus") -> str:
        return corpus.documents[self.document].text[self.start : self.end]


@dataclass(frozen=True)
class Corpus:
    """Documents by name, their chunks in order, and notes on what was skipped."""

    documents: Mapping[str, Document]
    chunks: tuple[Chunk, ...]
    notes: tuple[str, ...] = ()

    @cached_property
    def by_id(self) -> Mapping[str, Chunk]:
        return {chunk.id: chunk for chunk in self.chunks}

    @cached_property
    def by_document(self) -> Mapping[str, tuple[Chunk, ...]]:
        """The chunks of each document, in order."""
        found: dict[str, list[Chunk]] = {name: [] for name in self.documents}
        for chunk in self.chunks:
            found[chunk.document].append(chunk)
        return {name: tuple(chunks) for name, chunks in found.items()}

    def find(self, name: str) -> tuple[Chunk, ...]:
        chunk = self.by_id.get(name)
        return (chunk,) if chunk else self.by_document.get(name, ())


def read_documents(
    paths: str | PathLike[str] | Iterable[str | PathLike[str]], *, chunk_words: int = CHUNK_WORDS
) -> Corpus:
    """Read files, and folders with all that is below them, except hidden files.

    Text, Markdown, HTML, PDF and docx files are documents; they are cut at headings, and between
    sentences into chunks of about `chunk_words` words. Rows of JSON Lines and Parquet files are
    chunks with an `id` and a `text`, and perhaps a `document` and a `title`. Other files in a
    folder, those without text, and links to files outside it are skipped with a note.

    Raises:
        UsageError: `chunk_words` is less than 1, or reading needs the extra `documents`.
        InputError: there are no documents, or some cannot be read; it has every problem.
    """
    if chunk_words < 1:
        raise UsageError(f"a chunk must have 1 word or more, got {chunk_words}")
    places = [paths] if isinstance(paths, str | PathLike) else [*paths]
    documents: dict[str, Document] = {}
    chunks: list[Chunk] = []
    problems: list[Problem] = []
    skipped: list[str] = []
    blank: list[str] = []
    outside: list[str] = []
    for name, path in _files(places, problems, outside):
        try:
            found = _read(name, path, chunk_words)
        except InputError as error:
            problems += [Problem(f"{name}: {each}") for each in error.problems]
            continue
        except OSError as error:
            problems.append(Problem(f"{name}: it cannot be read: {error.strerror}"))
            continue
        if found is None:
            skipped.append(name)
            continue
        if not found[0]:
            blank.append(name)
        for each in found[0]:
            if each.name in documents:
                seen = f"{name}: there are two documents named {one_line(each.name, 80)!r}"
                problems.append(Problem(seen, "name the folder above both, or rename one"))
            documents[each.name] = each
        chunks += found[1]
    if not problems:
        problems += _repeated_ids(chunks)
    others = [
        f"{count(len(names), 'file')} {kind}: {listing(names, 5)}"
        for names, kind in (
            (skipped, "of other types"),
            (blank, "without text"),
            (outside, "outside the folder, linked from it"),
        )
        if names
    ]
    if not documents and not problems:
        seen = ", but ".join(["there are no documents", *others])
        problems.append(Problem(seen, f"documents are {', '.join(DOCUMENT_FILES)}"))
    if problems:
        raise InputError(strip_controls(", ".join(map(str, places))) or "documents", problems)
    notes = tuple(f"skipped {each}" for each in others)
    return Corpus(MappingProxyType(documents), tuple(chunks), notes)


def _read(
    name: str, path: Path, chunk_words: int
) -> tuple[Sequence[Document], Sequence[Chunk]] | None:
    suffix = path.suffix.lower()
    if suffix not in DOCUMENT_FILES:
        return None
    file = File.at(path)
    if suffix in CHUNK_FILES:
        return _chunk_rows(file)
    text = READERS[suffix](file)
    if not text.strip():
        if suffix == ".pdf":
            raise file.refused("it has no text", "it may be scanned: run OCR first")
        return (), ()
    document = Document(name, text, sha256(file.content).hexdigest())
    return [document], list(split_chunks(document, chunk_words))


def _repeated_ids(chunks: Sequence[Chunk]) -> Iterator[Problem]:
    firsts: dict[str, Chunk] = {}
    for chunk in chunks:
        if (first := firsts.setdefault(chunk.id, chunk)) is not chunk:
            where = listing(sorted({first.document, chunk.document}))
            seen = f"two chunks have the id {one_line(chunk.id, 80)!r}, in {where}"
            yield Problem(seen, "give each chunk its own id")


def _files(
    places: Sequence[str | PathLike[str]], problems: list[Problem], outside: list[str]
) -> Iterator[tuple[str, Path]]:
    for place in map(Path, places):
        shown = strip_controls(str(place))
        try:
            if place.is_dir():
                for path in _walk(place, problems):
                    name = shown_name(path if len(places) > 1 else path.relative_to(place))
                    if not path.exists():
                        seen = f"{name}: it is a link to a file that is missing"
                        problems.append(Problem(seen, "delete it"))
                    elif not path.resolve().is_relative_to(place.resolve()):
                        outside.append(name)
                    elif path.is_file():
                        yield name, path
                continue
            if place.is_file():
                if place.suffix.lower() in DOCUMENT_FILES:
                    yield shown_name(place if len(places) > 1 else Path(place.name)), place
                else:
                    seen = f"{shown}: unsupported file type {place.suffix!r}"
                    problems.append(Problem(seen, f"documents are {', '.join(DOCUMENT_FILES)}"))
                continue
            near = None
            with suppress(OSError):
                near = nearest(place.name, [entry.name for entry in place.parent.iterdir()])
            offer = f"did you mean {near!r}?" if near else ""
            problems.append(Problem(f"there is no file or folder {shown}", offer))
        except OSError as error:
            problems.append(Problem(f"{shown}: it cannot be read: {error.strerror}"))
        except ValueError as error:  # a NUL in the path
            problems.append(Problem(f"{shown}: the path cannot be used: {error}"))


def _walk(place: Path, problems: list[Problem]) -> Iterator[Path]:
    """Yield what is in a folder and below it in order, except what is hidden."""

    def unreadable(error: OSError) -> None:
        name = strip_controls(str(error.filename))
        problems.append(Problem(f"{name}: it cannot be read: {error.strerror}"))

    for folder, folders, names in os.walk(place, onerror=unreadable):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for name in sorted(each for each in names if not each.startswith(".")):
            yield Path(folder, name)


def shown_name(path: Path) -> str:
    return strip_controls(path.as_posix()).replace("\n", " ").replace("\t", " ")


def _plain_text(file: File) -> str:
    if not file.content.strip():
        return ""
    return file.text().replace("\r\n", "\n").replace("\r", "\n")


def _html(file: File) -> str:
    source = _MARKED.sub(" ", _plain_text(file))
    parser = _HtmlText(source.lower())
    parser.feed(source)
    # close() would take hours: it starts again at each `<` of a tag or comment that is cut off.
    parser.handle_data(unescape(_TAG.sub(" ", parser.rawdata)))
    return parser.text()


_TAG = re.compile("<[^<>]*>")
_MARKED = re.compile(r"<!\[[^<>]*>?")
"""Conditional comments and sections of XML: the parser raises an error for some."""
_HIDDEN = frozenset("script style nav template noscript svg head".split())
_INLINE = frozenset(
    "a abbr b bdi bdo cite code data del dfn em font i ins kbd label mark q s samp small span "
    "strong sub sup time tt u var wbr".split()
)


class _HtmlText(HTMLParser):
    """The text of a page, with headings, lists, tables and code as in Markdown."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self._parts = ["\n"]
        # An element that is never closed hides nothing, as it would hide the rest of the page.
        self._hidden = dict.fromkeys((tag for tag in _HIDDEN if f"</{tag}" in source), 0)
        self._pre = 0
        self._cells = 0
        self._is_first_row = True

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag in self._hidden:
            self._hidden[tag] += 1
        elif tag in ("td", "th"):
            self._parts.append(" | " if self._cells else "| ")
            self._cells += 1
        elif tag == "pre":
            self._pre += 1
            self._parts.append("\n\n```\n")
        elif len(tag) == 2 and tag[0] == "h" and tag[1] in "123456":
            self._parts.append(f"\n\n{'#' * int(tag[1])} ")
        elif tag not in _INLINE:
            self._is_first_row = self._is_first_row or tag == "table"
            self._parts.append({"li": "\n* ", "br": "\n", "tr": "\n"}.get(tag, "\n\n"))

    def handle_endtag(self, tag: str) -> None:
        if tag in self._hidden:
            self._hidden[tag] = max(0, self._hidden[tag] - 1)
        elif tag == "pre" and self._pre:
            self._pre -= 1
            self._parts.append("\n```\n\n")
        elif tag == "tr" and self._cells:
            rule = "\n|" + " --- |" * self._cells if self._is_first_row else ""
            self._parts.append(f" |{rule}")
            self._is_first_row, self._cells = False, 0
        elif tag not in _INLINE and tag not in ("td", "th", "tr", "br", "li"):
            self._parts.append("\n\n")

    def handle_data(self, data: str) -> None:
        if any(self._hidden.values()):
            return
        if not self._pre:
            line = " ".join(f"<{data}>".split())[1:-1]  # keeps one space at each end
            data = line.lstrip() if self._parts[-1][-1] in "\n " else line
        if data:
            self._parts.append(data)

    def text(self) -> str:
        lines = [line.rstrip() for line in "".join(self._parts).split("\n")]
        kept = [line for n, line in enumerate(lines) if line or (n and lines[n - 1])]
        return "\n".join(kept).strip("\n") + "\n"


def _pdf(file: File) -> str:
    try:
        from pypdf import PdfReader
        from pypdf.errors import DependencyError, FileNotDecryptedError
    except ImportError:
        raise UsageError(
            f"{file.name}: reading PDF files needs an extra: pip install '{EXTRA}'"
        ) from None
    if not file.content.strip():
        return ""
    fix = "print it to a new PDF, or save it as text"
    with _silent("pypdf"):
        try:
            reader = PdfReader(BytesIO(file.content))
            locked = reader.is_encrypted and not reader.decrypt("")
            pages = [] if locked else [page.extract_text() for page in reader.pages]
        except (DependencyError, FileNotDecryptedError):
            locked, pages = True, []
        except Exception as error:  # damaged files raise errors of all kinds
            why = one_line(str(error) or type(error).__name__, 120)
            raise file.refused(f"the PDF cannot be read: {why}", fix) from error
    if locked:
        raise file.refused("the PDF is encrypted", "remove its password")
    return strip_controls("\n\n".join(pages))


def _docx(file: File) -> str:
    try:
        import docx
        from docx.table import Table
    except ImportError:
        raise UsageError(
            f"{file.name}: reading docx files needs an extra: pip install '{EXTRA}'"
        ) from None
    if not file.content.strip():
        return ""
    if file.content.startswith(OLE):
        raise file.refused("this is an old .doc, or encrypted", "save it as .docx, unprotected")
    fix = "open it in Word and save it again as .docx"
    if not file.content.startswith(ZIP):
        raise file.refused("this is not a Word document", fix)
    parts: list[str] = []
    try:
        Archive(file)  # refuses what unpacks to too much
        for block in docx.Document(BytesIO(file.content)).iter_inner_content():
            if isinstance(block, Table):
                rows = [[" ".join(cell.text.split()) for cell in row.cells] for row in block.rows]
                lines = [f"| {' | '.join(cells)} |" for cells in rows if any(cells)]
                if lines:
                    lines.insert(1, "|" + " --- |" * len(rows[0]))
                parts.append("\n".join(lines))
            else:
                style = block.style.name if block.style is not None else None
                level = (style or "").removeprefix("Heading ")
                mark = "#" * int(level) + " " if level in tuple("123456") else ""
                parts.append(("# " if style == "Title" else mark) + block.text)
    except InputError:
        raise
    except Exception as error:  # damaged files raise errors of all kinds
        why = one_line(str(error) or type(error).__name__, 120)
        raise file.refused(f"it cannot be read: {why}", fix) from error
    return strip_controls("\n\n".join(filter(str.strip, parts)))


@contextmanager
def _silent(name: str) -> Generator[None, None, None]:
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)  # its modules log to children, which inherit the level
    try:
        yield
    finally:
        logger.setLevel(before)


READERS: Mapping[str, Callable[[File], str]] = MappingProxyType(
    {
        ".txt": _plain_text,
        ".md": _plain_text,
        ".markdown": _plain_text,
        ".html": _html,
        ".htm": _html,
        ".pdf": _pdf,
        ".docx": _docx,
    }
)
"""Suffix -> what extracts a document's text."""
DOCUMENT_FILES = (*READERS, *CHUNK_FILES)
"""Suffixes of the files that are read."""


def _chunk_rows(file: File) -> tuple[list[Document], list[Chunk]]:
    if not file.content.strip():
        raise file.refused("the file is empty", "delete it")
    texts: dict[str, list[str]] = {}
    lengths: dict[str, int] = {}
    chunks: list[Chunk] = []
    problems: list[Problem] = []
    table = LOADERS[file.suffix](file, None)
    for row in table.rows:
        if not isinstance(row, Record):
            if isinstance(row, Problem):
                problems.append(replace(row, unit=table.unit))
            continue
        try:
            if (given := _first(row.values, ID_NAMES)) is None:
                raise ValueError("it has no id")
            identity, text = document_id(given), _first(row.values, TEXT_NAMES)
            if not isinstance(text, str) or not text.strip():
                raise ValueError("it has no text")
            name = _optional(row.values, DOCUMENT_NAMES) or identity
            heading = _optional(row.values, TITLE_NAMES)
        except ValueError as error:
            seen, fix = one_line(str(error), 200), "each row needs an `id` and a `text`"
            problems.append(Problem(seen, fix, row=row.row, unit=table.unit))
            continue
        start = lengths[name] + 2 if name in lengths else 0
        chunks.append(Chunk(identity, name, start, start + len(text), one_line(heading), text))
        texts.setdefault(name, []).append(text)
        lengths[name] = start + len(text)
    if problems:
        raise InputError(file.name, problems)
    joined = {name: "\n\n".join(parts) for name, parts in texts.items()}
    documents = [
        Document(name, text, sha256(text.encode("utf-8", "replace")).hexdigest())
        for name, text in joined.items()
    ]
    return documents, chunks


def _first(values: Mapping[str, object], names: Sequence[str]) -> Plain | None:
    return next(
        (normalize_cell(values[name]) for name in names if values.get(name) is not None), None
    )


def _optional(values: Mapping[str, object], names: Sequence[str]) -> str:
    found = _first(values, names)
    return cell_text(found).strip() if isinstance(found, str | int | float) else ""


def split_chunks(document: Document, chunk_words: int) -> Iterator[Chunk]:
    """Yield the chunks of a document in order: parts of its sections, of about equal length."""
    number = 0
    for start, end, heading in _sections(document.text):
        pieces = list(_sentences(document.text, start, end, LONGEST_PIECE * chunk_words))
        words = [max(1, len(split_forms(document.text[first:last]))) for first, last in pieces]
        parts = max(1, round(sum(words) / chunk_words))
        target = sum(words) / parts
        before, begin = 0, 0
        for place, size in enumerate(words):
            here = int((before + size / 2) / target)
            following = before + size + words[place + 1] / 2 if place + 1 < len(words) else None
            before += size
            if following is None or int(following / target) > here:
                number += 1
                first, last = pieces[begin][0], pieces[place][1]
                text = document.text[first:last]
                yield Chunk(f"{document.name}#{number}", document.name, first, last, heading, text)
                begin = place + 1


def _sentences(text: str, start: int, end: int, most: int) -> Iterator[tuple[int, int]]:
    for sentence in split_sentences(text[start:end]):
        first, last = start + sentence.start, start + sentence.end
        while last - first > most:
            cut = text.rfind(" ", first + most // 2, first + most) + 1 or first + most
            yield first, cut
            first = cut
        yield first, last


def _sections(text: str) -> Iterator[tuple[int, int, str]]:
    fence, here, start = "", 0, 0
    path: list[tuple[int, str]] = []
    filled = False
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        if fence or bare.startswith(("```", "~~~")):
            marker = bare[:3]
            fence = (
                "" if fence and marker == fence and not bare.strip(fence[0]) else fence or marker
            )
            filled = True
        elif bare.startswith("#") and (title := _title(bare)):
            if filled:
                yield start, here, " > ".join(name for _, name in path)
                start, filled = here, False
            path = [*(each for each in path if each[0] < title[0]), title]
        elif bare:
            filled = True
        here += len(line)
    yield start, len(text), " > ".join(name for _, name in path)


def _title(line: str) -> tuple[int, str] | None:
    rest = line.lstrip("#")
    level = len(line) - len(rest)
    if level > 6 or rest[:1] not in (" ", "\t"):
        return None
    return level, one_line(rest.rstrip("# \t"), 120)
