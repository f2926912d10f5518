from pathlib import Path

import docx
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfWriter

from ragstone.errors import InputError, UsageError
from ragstone.testsets.documents import (
    Chunk,
    ChunkIndex,
    Corpus,
    Document,
    Span,
    read_documents,
    split_chunks,
    stems,
)

PAGE = """<html><head><title>T</title><style>x {}</style></head><body><nav>menu</nav>
<h1>Tarn <b>4</b></h1><p>It  charges at <i>45</i> W.<br>Fast.</p><ul><li>one<li>two</ul>
<table><tr><th>Model<th>Price</tr><tr><td>Tarn 4</td><td>599 euros</td></tr></table>
<pre>def f():
    # a comment</pre><script>alert(1)</script><h2>Water &amp; care</h2>Wash it.</body></html>"""
PAGE_TEXT = """
# Tarn 4

It charges at 45 W.
Fast.

* one
* two

| Model | Price |
| --- | --- |
| Tarn 4 | 599 euros |

```
def f():
    # a comment
```

## Water & care

Wash it.
""".lstrip()


def check_places(corpus: Corpus) -> None:
    for chunk in corpus.chunks:
        assert corpus.documents[chunk.document].text[chunk.start : chunk.end] == chunk.text
        assert Span(chunk.document, chunk.start, chunk.end).text(corpus) == chunk.text
    assert len(corpus.by_id) == len(corpus.chunks)
    assert sum(map(len, corpus.by_document.values())) == len(corpus.chunks)


def pdf(text: str) -> bytes:
    """Return a PDF with one line of text."""
    stream = f"BT /F1 12 Tf 10 50 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 100] /Contents 4 0 R /Resources %s >>"
        % b"<< /Font << /F1 5 0 R >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    content, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    end = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (size, len(content))
    return content + b"xref\n0 %d\n0000000000 65535 f \n" % size + table + end


def test_a_folder_of_all_types_is_read_in_order(tmp_path: Path):
    (tmp_path / "sub").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.md").write_text("hidden")
    (tmp_path / "a.html").write_text(PAGE)
    (tmp_path / "b.md").write_bytes(b"\xef\xbb\xbf# Care\r\n\r\nWash it.\r\n")
    (tmp_path / "sub" / "c.TXT").write_text("Plain.")
    (tmp_path / "d.pdf").write_bytes(pdf("Charge it first."))
    word = docx.Document()
    word.add_heading("Guide", 1)
    word.add_paragraph("It charges at 45 W.")
    table = word.add_table(2, 2)
    for place, cell in enumerate(cell for row in table.rows for cell in row.cells):
        cell.text = f"c{place}"
    word.save(str(tmp_path / "e.docx"))
    rows = '{"id": 7, "text": "One.", "document": "f"}\n{"id": 8, "text": "Two.", "document": "f"}'
    (tmp_path / "f.jsonl").write_text(rows)
    frame = polars.DataFrame({"_id": ["p"], "text": ["Three."], "title": ["T"]})
    frame.write_parquet(tmp_path / "g.parquet")
    (tmp_path / "h.png").write_bytes(b"\x89PNG")
    corpus = read_documents(tmp_path)
    check_places(corpus)
    texts = {name: document.text for name, document in corpus.documents.items()}
    assert texts == {
        "a.html": PAGE_TEXT,
        "b.md": "# Care\n\nWash it.\n",
        "d.pdf": "Charge it first.",
        "e.docx": "# Guide\n\nIt charges at 45 W.\n\n| c0 | c1 |\n| --- | --- |\n| c2 | c3 |",
        "f": "One.\n\nTwo.",
        "p": "Three.",
        "sub/c.TXT": "Plain.",
    }
    assert [(chunk.id, chunk.heading) for chunk in corpus.chunks] == [
        ("a.html#1", "Tarn 4"), ("a.html#2", "Tarn 4 > Water & care"), ("b.md#1", "Care"),
        ("d.pdf#1", ""), ("e.docx#1", "Guide"), ("7", ""), ("8", ""), ("p", "T"),
        ("sub/c.TXT#1", ""),
    ]  # fmt: skip
    assert corpus.notes == ("skipped 1 file of other types: 'h.png'",)
    assert [chunk.id for chunk in corpus.find("f")] == ["7", "8"]
    assert [chunk.id for chunk in corpus.find("b.md#1")] == ["b.md#1"]
    assert corpus.find("x") == ()


def test_all_problems_of_a_folder_are_reported_together(tmp_path: Path):
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4 broken")
    (tmp_path / "b.docx").write_bytes(b"PK\x03\x04broken")
    (tmp_path / "c.jsonl").write_text('{"id": 1, "text": " "}\n{"text": "a"}\nx')
    (tmp_path / "e.txt").write_bytes("Größe\n".encode("latin-1") * 3)
    (tmp_path / "f.md").symlink_to("missing")
    blank = PdfWriter()
    blank.add_blank_page(10, 10)
    blank.write(tmp_path / "scan.pdf")
    blank.encrypt("secret")
    blank.write(tmp_path / "z.pdf")
    with pytest.raises(InputError) as error:
        read_documents(tmp_path)
    problems = "\n".join(map(str, error.value.problems))
    for text in (
        "a.pdf: it cannot be read",
        "b.docx: it cannot be read: File is not a zip file",
        "c.jsonl: line 1: it has no text",
        "c.jsonl: line 2: it has no id",
        "c.jsonl: line 3: invalid JSON",
        "e.txt: line 1: byte 3 (0xf6) is not UTF-8",
        "f.md: it is a link to a file that is missing",
        "scan.pdf: it has no text; it may be scanned: run OCR first",
        "z.pdf: the PDF is encrypted; remove its password",
    ):
        assert text in problems


def test_paths_and_ids_that_cannot_be_used(tmp_path: Path):
    (tmp_path / "guide.md").write_text("Text.")
    (tmp_path / "x.png").write_text("")
    (tmp_path / "a.jsonl").write_text('{"id": 1, "text": "a"}\n{"id": "1", "text": "b"}')
    (tmp_path / "blank.md").write_text(" ")
    assert read_documents([tmp_path / "guide.md", tmp_path / "blank.md"]).notes == (
        f"skipped 1 file without text: '{tmp_path / 'blank.md'}'",
    )
    for paths, message in (
        (tmp_path / "gide.md", "did you mean 'guide.md'?"),
        (tmp_path / "x.png", "unsupported file type '.png'; documents are .txt, .md"),
        (tmp_path / "a.jsonl", "two chunks have the id '1'"),
        ([tmp_path / "guide.md", tmp_path / "guide.md"], "there are two documents named"),
        ([], "there are no documents"),
        ("a\0b", "there is no file a"),
    ):
        with pytest.raises(InputError) as error:
            read_documents(paths)
        assert message in str(error.value), message
    with pytest.raises(UsageError, match="1 word or more, got 0"):
        read_documents(tmp_path, chunk_words=0)


def test_sections_are_cut_into_chunks_of_equal_length():
    sentence = "The phone charges at up to forty five watts today. "
    text = f"# A\n\n## B\n\n{sentence * 50}\n\n```\n# no heading\n```\n\n# C\n\nShort.\n"
    chunks = list(split_chunks(Document("d", text, ""), 200))
    assert [chunk.heading for chunk in chunks] == ["A > B"] * 3 + ["C"]
    assert [len(chunk.text.split()) // 10 for chunk in chunks] == [17, 16, 17, 0]
    line = "word " * 10_000
    cut = [len(chunk.text.split()) for chunk in split_chunks(Document("d", line, ""), 100)]
    assert sum(cut) == 10_000
    assert max(cut) <= 160


@given(st.text(), st.integers(1, 50))
def test_the_text_at_a_place_is_always_that_of_the_chunk(text: str, words: int):
    chunks = list(split_chunks(Document("d", text, ""), words))
    assert [chunk.text for chunk in chunks] == [text[c.start : c.end] for c in chunks]
    assert sum(len("".join(c.text.split())) for c in chunks) == len("".join(text.split()))


def test_a_page_nested_too_deeply_is_refused_and_one_without_text_skipped(tmp_path: Path):
    page = tmp_path / "a.html"
    page.write_text(f"<p>Seen.\n{'<div>' * 1000}In{'</div>' * 1000}<p>After.")
    assert read_documents(tmp_path).documents["a.html"].text.split() == ["Seen.", "In", "After."]
    page.write_text(f"<p>Seen.\n{'<div>' * 50_000}In{'</div>' * 50_000}<p>After.")
    with pytest.raises(InputError, match=r"a\.html: line 2: invalid HTML: Excessive depth"):
        read_documents(tmp_path)
    (tmp_path / "b.txt").write_text("One.")
    for text in ("<!-- x -->", "<!DOCTYPE html>", "<?xml version='1.0'?>", "<svg>x</svg>"):
        page.write_text(text)
        assert read_documents(tmp_path).notes == ("skipped 1 file without text: 'a.html'",), text


def test_links_that_leave_the_folder_are_not_followed(tmp_path: Path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "a.txt").write_text("One.")
    (folder / "b.txt").symlink_to(folder / "a.txt")
    (folder / "c.txt").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "linked").symlink_to(folder)
    for place in (folder, tmp_path / "linked"):
        corpus = read_documents(place)
        assert set(corpus.documents) == {"a.txt", "b.txt"}
        assert corpus.notes == ("skipped 1 file outside the folder, linked from it: 'c.txt'",)


def corpus_of(*texts: str) -> Corpus:
    documents = {f"d{n}": Document(f"d{n}", text, "") for n, text in enumerate(texts)}
    chunks = [Chunk(f"c{n}", f"d{n}", 0, len(text), "", text) for n, text in enumerate(texts)]
    return Corpus(documents, tuple(chunks))


def test_the_chunk_with_the_rare_words_is_first():
    texts = ("The phone charges at 45 W.", "The phone survives water. The phone is small.")
    others = ("Das Telefon lädt mit 45 W.", "電池は交換できません。", "---")
    index = ChunkIndex(corpus_of(*texts, *others))
    for query, found in (
        ("How fast are phones charging?", ["c0", "c1"]),
        ("Water?", ["c1"]),
        ("LADT das Telefon?", ["c2"]),
        ("電池の交換", ["c3"]),
        ("nothing here", []),
        ("", []),
    ):
        assert [hit.id for hit in index.search(query, 5)] == found, query
    assert index.search("phone", 1)[0].id == "c1"
    assert index.search("phone", 0) == []
    assert [index.frequency(term) for term in stems("phones 45 unknown")] == [2, 2, 0]
    assert ChunkIndex(corpus_of("---", "...")).search("a", 3) == []
    index = ChunkIndex(corpus_of(*["The same words."] * 50))  # equal scores keep the order
    assert [hit.id for hit in index.search("words", 9)] == [f"c{n}" for n in range(9)]
