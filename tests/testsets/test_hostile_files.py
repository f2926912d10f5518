"""A thousand broken and hostile files: each is read or refused, and nothing else happens."""

import io
import json
import random
import zipfile
from pathlib import Path

import docx
import pytest
from pypdf import PdfWriter
from pypdf.generic import NameObject, StreamObject
from tests.testsets.test_documents import check_places, pdf

from ragstone.errors import InputError
from ragstone.testsets.documents import CHUNK_FILES, DOCUMENT_FILES, read_documents

NUMBER = 1000


def word_file() -> bytes:
    document = docx.Document()
    document.add_heading("Guide", 1)
    document.add_paragraph("The Tarn 4 charges at 45 W.")
    document.add_table(2, 2).cell(0, 0).text = "x"
    content = io.BytesIO()
    document.save(content)
    return content.getvalue()


def bomb(part: bytes) -> bytes:
    """Return a docx whose text is `part`, packed."""
    content = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(word_file())) as whole,
        zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name in whole.namelist():
            archive.writestr(name, part if name == "word/document.xml" else whole.read(name))
    return content.getvalue()


def damaged(content: bytes, dice: random.Random) -> bytes:
    """Return bytes with some cut off, repeated or replaced."""
    at, size = dice.randrange(len(content)), dice.randrange(1, 200)
    other = dice.choice([b"", content[at : at + size] * 5, dice.randbytes(size)])
    return content[:at] + other + content[at + dice.choice([0, len(other), len(content)]) :]


TEXTS = [
    b"", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"a\0b" * 50, "\u202e\u2066a\u2069 <script>".encode(),
    b"\xed\xa0\x80", b"a" * 300_000, b"a " * 100_000, "\u3002".encode() * 20_000, b"# " * 30_000,
    b"<div>" * 20_000, b"<table><tr><td>" * 5_000, b"<!--" * 20_000, b"<![CDATA[" * 5_000,
    b"&#x110000;&#0;&#xd800;" * 1_000, b"```\n" * 20_000, b"\r" * 20_000, b"[" * 20_000,
    b'{"id": 1, "text": "\\ud800"}', b'{"id": "a\\u0000b", "text": "x\\u0000y"}',
    b'{"id": 1e999, "text": "x"}', b'{"id": ' + b"9" * 5000 + b', "text": "x"}',
    b'{"id": [1], "text": ["x"]}', b'{"id": "x", "text": "t", "document": {"a": 1}, "title": []}',
    b"[1]\nnull\n3\n\"x\"", b"%PDF-1.7\n" + b"1 0 obj\n<<" * 2_000, b"PK\x03\x04" * 200,
    b"PAR1" + bytes(50) + b"PAR1", b"<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
]  # fmt: skip


def contents(dice: random.Random) -> list[bytes]:
    """Return what the files have."""
    bodies = [*TEXTS, bomb(b"<w:document>" * 50_000), bomb(b" " * 120_000_000)]
    entity = b'<!DOCTYPE a [<!ENTITY b "' + b"x" * 1000 + b'">]>' + b"<a>" + b"&b;" * 5000 + b"</a>"
    good = [pdf("Charge it first."), word_file(), json.dumps({"id": 1, "text": "One."}).encode()]
    good.append(b"<html><body><h1>Guide</h1><p>Text <b>bold</b>.</p><ul><li>x</ul></body></html>")
    bodies += [bomb(entity), *good]
    while len(bodies) < NUMBER // 4:
        bodies.append(dice.randbytes(dice.randrange(2000)))
    while len(bodies) < NUMBER:
        bodies.append(damaged(dice.choice(good), dice))
    return bodies


@pytest.mark.timeout(300)
def test_a_thousand_hostile_files_are_read_or_refused(tmp_path: Path, huge: int) -> None:
    dice = random.Random(23)
    names = ["a", "b\nc", "\u202eabc", "a" * 200, "<script>", "#1", "x y", "é"]
    read = 0
    for number, body in enumerate([b"\xc3\xa4" * huge, *contents(dice)]):
        own = {b"PK": [".docx"], b"%P": [".pdf"]}.get(body[:2], DOCUMENT_FILES)
        suffix = dice.choice(own if dice.random() < 0.7 else DOCUMENT_FILES)
        path = tmp_path / str(number) / f"{dice.choice(names)}{suffix}"
        path.parent.mkdir()
        path.write_bytes(body)
        try:
            corpus = read_documents(path.parent)
        except InputError as error:
            texts = [error.problems[0].seen]
        else:
            check_places(corpus)
            texts = [*corpus.documents] if path.suffix not in CHUNK_FILES else []
            read += 1
        assert not any("\n" in text or "\u202e" in text for text in texts)
    assert 0 < read < NUMBER


def docx_of(body: str) -> bytes:
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    return bomb(f'<w:document xmlns:w="{space}"><w:body>{body}</w:body></w:document>'.encode())


def test_a_cell_that_spans_millions_is_one_cell(tmp_path: Path) -> None:
    span = '<w:tcPr><w:gridSpan w:val="2000000000"/></w:tcPr>'
    cell = f"<w:tc>{span}<w:p><w:r><w:t>It is red.</w:t></w:r></w:p></w:tc>"
    (tmp_path / "a.docx").write_bytes(docx_of(f"<w:tbl><w:tr>{cell}</w:tr></w:tbl>"))
    assert read_documents(tmp_path).chunks[0].text == "| It is red. |\n| --- |"


def test_documents_of_many_paragraphs_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_bytes(docx_of("<w:p/>" * 100_001))
    with pytest.raises(InputError, match="more than 100,000 paragraphs; split it"):
        read_documents(tmp_path)


def test_text_of_gigabytes_is_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "a.txt").open("wb") as file:
        file.truncate(3 * 2**30)
    with pytest.raises(InputError, match="more than 20 MiB; split it"):
        read_documents(tmp_path)


def test_pages_that_unpack_to_far_more_are_refused(tmp_path: Path) -> None:
    writer = PdfWriter()
    stream = StreamObject()
    stream.set_data(b"BT (It is red.) Tj ET " * 50_000)
    shared = writer._add_object(stream.flate_encode())  # pyright: ignore[reportPrivateUsage]
    for _ in range(30):
        writer.add_blank_page(100, 100)[NameObject("/Contents")] = shared
    writer.write(tmp_path / "a.pdf")
    with pytest.raises(InputError, match="its pages unpack to far more than its size"):
        read_documents(tmp_path)
