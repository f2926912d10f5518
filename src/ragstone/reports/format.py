"""How numbers, causes and texts are written: for people, terminals and workbooks, as file names."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import cast

from rich.console import Console
from rich.text import Text

from ragstone._internal.text import one_line, strip_controls
from ragstone.errors import Cause
from ragstone.types.claim import Label

NO_VALUE = "–"
MAX_PRINTED = 400  # characters of one text on a terminal; servers may return whole pages
CELL_UNITS = 32_767  # UTF-16 code units that fit in an Excel cell
CAUSES: Mapping[Cause, str] = {  # in reports for people; files for programs have the cause itself
    Cause.REFUSAL: "refused",
    Cause.TRUNCATED: "truncated",
    Cause.MALFORMED: "unreadable reply",
    Cause.COUNT_MISMATCH: "wrong number of answers",
    Cause.NO_CLAIMS: "no claims found in statements",
    Cause.TIMEOUT: "timed out",
    Cause.RATE_LIMITED: "rate limited",
    Cause.UNREACHABLE: "unreachable",
    Cause.REJECTED: "request rejected",
    Cause.BUDGET: "over budget",
    Cause.METRIC_ERROR: "error in the metric",
    Cause.JUDGE_ERROR: "error in the judge",
    Cause.TARGET_ERROR: "error in the target",
}
LABELS: Mapping[Label, str] = {
    Label.SUPPORTED: "supported",
    Label.PARTIALLY_SUPPORTED: "partially supported",
    Label.CONTRADICTED: "contradicted",
    Label.NOT_ENOUGH_INFO: "not stated",
}
_NOT_IN_FILE_NAMES = re.compile(r'[<>:"/\\|?*\x00-\x1f]')


def decimal(value: float | None, digits: int = 4) -> str:
    return NO_VALUE if value is None else f"{round(value, digits) + 0.0:.{digits}f}"


def brief(value: float) -> str:
    text = f"{value + 0.0:.2f}"
    return decimal(value) if text.endswith(".00") and value != round(value) else text


def ends(bounds: Sequence[float]) -> str:
    return f"{bounds[0]:.2f} to {bounds[1]:.2f}"


def signed(value: float | None, digits: int = 4) -> str:
    return NO_VALUE if value is None else f"{round(value, digits) + 0.0:+.{digits}f}"


def interval(bounds: Sequence[float] | None, digits: int = 4) -> str:
    return NO_VALUE if bounds is None else " – ".join(decimal(each, digits) for each in bounds)


def percent(share: float) -> str:
    return f"{share:.1%}"


def milliseconds(value: float | None) -> str:
    return NO_VALUE if value is None else f"{value:,.0f} ms"


def dollars(value: float) -> str:
    return f"${value:,.2f}" if value >= 1 else f"${value:,.4f}"


def finite(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value).items()
        return {key: finite(item) for key, item in pairs}
    if isinstance(value, list | tuple):
        return [finite(item) for item in cast("list[object]", value)]
    return value


def printable(words: str, console: Console, style: str = "", limit: int = MAX_PRINTED) -> Text:
    (text,) = printable_cells([words], console, limit)
    text.style = style
    return text


def printable_cells(cells: Sequence[str], console: Console, limit: int) -> list[Text]:
    lines = [one_line(text, limit) for text in cells]
    try:
        "".join(lines).encode(console.encoding)
    except UnicodeEncodeError:
        code, plain = console.encoding, {ord("–"): "-", ord("…"): "...", ord("→"): "->"}
        lines = [line.translate(plain).encode(code, "replace").decode(code) for line in lines]
    return [Text(line, overflow="fold") for line in lines]


def cell(text: str) -> str:
    safe = strip_controls(text)
    if safe.startswith("<r>") and safe.endswith("</r>"):
        safe += " "  # XlsxWriter would write it as unescaped XML
    if utf16_units(safe) <= CELL_UNITS:
        return safe
    notice = f"… (cut, {len(text):,} characters)"
    return utf16_cut(safe, CELL_UNITS - utf16_units(notice)) + notice


def file_name(text: str) -> str:
    safe = _NOT_IN_FILE_NAMES.sub("_", one_line(text)).strip(" .")
    return utf16_cut(safe, 50).rstrip() or "_"


def utf16_units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def utf16_cut(text: str, units: int) -> str:
    return text.encode("utf-16-le")[: 2 * units].decode("utf-16-le", "ignore")
