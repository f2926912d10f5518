import struct
import zipfile
import zlib
from io import BytesIO

import pytest

from ragstone.datasets.formats.excel import BROKEN, Archive
from ragstone.datasets.table import File
from ragstone.errors import InputError


def zipped(parts: dict[str, bytes], kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = BytesIO()
    with zipfile.ZipFile(out, "w", kind) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return out.getvalue()


def test_parts_are_found_without_case():
    assert Archive(File("a.xlsx", zipped({"Xl/A.xml": b"<a/>"}))).read("xl/a.XML") == b"<a/>"


def test_a_bomb_is_refused():
    bomb = zipped({"xl/a.xml": b"\0" * (110 * 2**20)})
    assert len(bomb) < 200_000
    with pytest.raises(InputError, match=r"its part xl/a\.xml unpacks to over 100 MiB"):
        Archive(File("a.xlsx", bomb))


def test_a_bomb_that_lies_about_its_size_is_refused():
    size = 110 * 2**20
    bomb = zipped({"xl/a.xml": b"\0" * size})
    crc = zlib.crc32(b"\0" * 10)
    true = struct.pack("<L", zlib.crc32(b"\0" * size)), struct.pack("<L", size)
    lie = bomb.replace(true[0], struct.pack("<L", crc)).replace(true[1], struct.pack("<L", 10))
    with zipfile.ZipFile(BytesIO(lie)) as archive:
        assert archive.read("xl/a.xml") == b"\0" * 10
    with pytest.raises(InputError, match="unpacks to over 100 MiB"):
        Archive(File("a.xlsx", lie))


def test_a_part_of_another_size_than_the_archive_says_is_refused():
    content = zipped({"xl/a.xml": b"a" * 1000}, zipfile.ZIP_STORED)
    said, longer = struct.pack("<LL", 1000, 1000), struct.pack("<LL", 1000, 1001)
    with pytest.raises(BROKEN, match="does not have the size that the archive declares"):
        Archive(File("a.xlsx", content.replace(said, longer)))


def test_two_parts_of_one_name_are_refused():
    with pytest.raises(BROKEN, match="two parts have the same name"):
        Archive(File("a.xlsx", zipped({"xl/a.xml": b"a", "XL/a.xml": b"b"})))


def test_many_small_parts_count_together(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ragstone.datasets.formats.excel.LARGEST", 2_000)
    parts = {f"xl/{number}.xml": b"abcdefgh" * 100 for number in range(2)}
    Archive(File("a.xlsx", zipped(parts)))
    with pytest.raises(InputError, match=r"its part xl/2\.xml unpacks to over 0 MiB"):
        Archive(File("a.xlsx", zipped({**parts, "xl/2.xml": b"abcdefgh" * 100})))


def test_a_part_packed_otherwise_is_refused():
    with pytest.raises(BROKEN, match="uses an unsupported compression method"):
        Archive(File("a.xlsx", zipped({"xl/a.xml": b"a"}, zipfile.ZIP_BZIP2)))


def test_a_package_without_a_workbook_is_refused():
    relations = b"<Relationships/>"
    with pytest.raises(BROKEN, match="does not name its workbook part"):
        Archive(File("a.xlsx", zipped({"_rels/.rels": relations}))).sheet_parts()
