"""What Excel displays for a cell: numbers, dates and times in a number format."""

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal

BUILT_IN = {
    number: code
    for each in (
        "0 General|1 0|2 0.00|3 #,##0|4 #,##0.00|9 0%|10 0.00%|11 0.00E+00|12 # ?/?|13 # ??/??|"
        "15 d-mmm-yy|16 d-mmm|17 mmm-yy|18 h:mm AM/PM|19 h:mm:ss AM/PM|20 h:mm|21 h:mm:ss|45 mm:ss|"
        "37 #,##0_);(#,##0)|38 #,##0_);(#,##0)|39 #,##0.00_);(#,##0.00)|40 #,##0.00_);(#,##0.00)|"
        "46 [h]:mm:ss|47 mm:ss.0|48 ##0.0E+0|49 @"
    ).split("|")
    for number, _, code in (each.partition(" "),)
}
"""Formats that workbooks do not spell; the others, such as 14 (a date), differ by region."""
_LITERAL = re.compile(  # also colors, and what fills a cell
    r'"([^"]*)"|\\(.)|_.|\*.|\[\$([^-\]]*)(?:-[0-9A-E][0-9A-F]{0,3})?\]|\[(?:[A-Z]{3,7})\]',
    re.IGNORECASE | re.DOTALL,
)
_FOREIGN = re.compile(r"\[\$[^\]]*-(?![0-9A-F]*09\])[0-9A-F]+\].*(mmm|ddd)", re.IGNORECASE)
LONGEST = 255  # characters of a format, as in Excel
_TEXT = r"([^0#?.,A-Za-z/@\[\]]*)"
_NUMBER = re.compile(_TEXT + r"(?:General|([0#,?]*?)(\.[0#]*)?(,*))" + _TEXT)
_CLOCK = re.compile(r"\[([hns])\1*\]|([ymdhnsp])\2*|[0#?@\[a-z]")  # n is a minute


@dataclass(frozen=True)
class Shown:
    """A cell in a number format: tags have the value, other fields the text that is displayed."""

    value: object
    code: str | None  # the format; None if Excel's region decides it
    number: str  # as it is stored

    def __str__(self) -> str:
        return str(self.value) if self.text is None else self.text

    @property
    def text(self) -> str | None:
        """What an English Excel displays; None if that is not known."""
        if isinstance(self.value, bool):
            return str(self.value).upper()
        if len(self.code or "") > LONGEST:
            return None
        try:
            return self._text()
        except (ArithmeticError, LookupError):  # of a hostile format
            return None

    def _text(self) -> str | None:
        literals = list[str]()

        def keep(found: re.Match[str]) -> str:
            literals.append(found[1] or found[2] or found[3] or " " * (found[0][0] == "_"))
            return chr(0xE000 + len(literals) - 1)  # of Unicode's private use

        size = Decimal(self.number)
        sections = _LITERAL.sub(keep, self.code or "@").split(";")
        at = 1 if size < 0 and sections[1:] else 2 if not size and sections[2:] else 0
        if isinstance(self.value, int | float):
            made = _digits(Decimal(f"{abs(size):.15g}"), sections[at])
        else:
            is_known = size >= 0 and not _FOREIGN.search(self.code or "")
            made = _moment(self.value, sections[at]) if is_known else ""
        made = re.sub("[\ue000-\uf8ff]", lambda found: literals[ord(found[0]) - 0xE000], made)
        return f"{'-' * (size < 0 and not at and made != '')}{made}".strip() or None


def _digits(number: Decimal, section: str) -> str:
    found = _NUMBER.fullmatch(section)
    if found is None or number.adjusted() > 15 or re.search("0,[0#]*0", section):
        return ""
    if "General" in section:
        return f"{found[1]}{number.normalize():f}{found[5]}"
    before, digits, point, scale, after = found.groups("")
    number = number.scaleb(2 * section.count("%") - 3 * len(scale))
    rounded = number.quantize(Decimal(1).scaleb(1 - len(point or ".")), ROUND_HALF_UP)
    whole, _, part = f"{rounded:{',' * (',' in digits)}f}".partition(".")
    needed = max(point.rfind("0"), 0)
    part = part[:needed] + part[needed:].rstrip("0")
    whole = "" if whole == "0" or not digits + point else whole
    whole = whole.zfill(digits.count("0")).rjust(digits.count("?"))
    return f"{before}{whole}{point[:1]}{part}{after}"


def _moment(value: object, section: str) -> str:
    day = value if isinstance(value, date) else None
    at = value.time() if isinstance(value, datetime) else value
    if isinstance(at, time):
        at = timedelta(hours=at.hour, minutes=at.minute, seconds=at.second)
    seconds = int(at.total_seconds()) if isinstance(at, timedelta) else 0
    section = section.lower().replace("am/pm", "p")
    section = re.sub(r"(h\]?[^a-z]*|\[)(m+)", lambda m: m[1] + "n" * len(m[2]), section)  # minutes
    section = re.sub(r"m+(?=\]?[^a-z]*s)", lambda m: "n" * len(m[0]), section)
    hour = seconds // 3600 % 24
    twelve = (hour + 11) % 12 + 1 if "p" in section else hour
    parts = {"p": "PM" if hour >= 12 else "AM"}
    for letter, total, part in (
        ("h", seconds // 3600, twelve),
        ("n", seconds // 60, seconds // 60 % 60),
        ("s", seconds, seconds % 60),
        *((("m", 0, day.month), ("d", 0, day.day)) if day else ()),
    ):
        parts |= {letter: f"{part}", letter * 2: f"{part:02}"}
        parts |= {f"[{letter}]": f"{total}", f"[{letter * 2}]": f"{total:02}"}
    for token in ("%Y yyyy", "%y yy", "%B mmmm", "%b mmm", "%A dddd", "%a ddd") if day else ():
        parts[token[3:]] = f"{day:{token[:2]}}"
    made = _CLOCK.sub(lambda found: parts.get(found[0], "?"), section)
    return "" if "?" in made else made
