from xml.parsers.expat import ExpatError

import pytest
from tests.cases import each_case

from ragstone.datasets.formats.excel import UNCALCULATED, SheetScan


def scan(rows: str) -> SheetScan:
    return SheetScan.of(f"<worksheet><sheetData>{rows}</sheetData></worksheet>".encode())


def test_errors_have_their_place_from_0():
    found = scan('<row r="3"><c r="AB3" t="e"><v>#N/A</v></c></row>')
    assert found.errors == {(2, 27): "the error #N/A"}
    assert (found.rows, found.columns) == (3, 28)


def test_cells_without_an_address_follow_the_last():
    found = scan("<row><c><v>1</v></c></row><row><c/><c t='e'><f>A1</f><v>#REF!</v></c></row>")
    assert found.errors == {(1, 1): "the error #REF!"}


def test_names_may_have_a_prefix():
    xml = b'<x:w xmlns:x="u"><x:row r="1"><x:c r="A1" t="e"><x:v>#N/A</x:v></x:c></x:row></x:w>'
    assert SheetScan.of(xml).errors == {(0, 0): "the error #N/A"}


def test_cells_that_only_have_a_style_do_not_count():
    found = scan('<row r="1"><c r="A1"><v>1</v></c></row><row r="99"><c r="Z99" s="1"/></row>')
    assert (found.rows, found.columns) == (1, 1)


def test_a_formula_without_a_value_counts_and_one_with_an_empty_text_does_not():
    found = scan('<row r="1"><c r="A1"><f>B1</f></c><c r="B1" t="str"><f>C1</f><v></v></c></row>')
    assert found.errors == {(0, 0): UNCALCULATED}
    assert found.columns == 2


@each_case("address", ["1A", "A", "ABCD1", "A12345678", "Ä1"])
def test_what_is_no_address_is_refused(address: str):
    with pytest.raises(ExpatError, match="is not a cell address"):
        scan(f'<row><c r="{address}"><v>1</v></c></row>')


def test_a_document_type_is_refused():
    with pytest.raises(ExpatError, match="document type"):
        SheetScan.of(b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>')
