from datetime import date, datetime, time, timedelta

from tests.cases import each_case

from ragstone.datasets.number_formats import Shown

ACCOUNTING = '_-* #,##0.00\\ "€"_-;\\-* #,##0.00\\ "€"_-;_-* "-"??\\ "€"_-;_-@_-'
AT = datetime(2023, 3, 5, 18, 7, 9)  # noqa: DTZ001 - as Excel has it


@each_case(
    ("number", "code", "expected"),
    [
        (0.25, "0%", "25%"),
        (1234.5, '#,##0.00 "€"', "1,234.50 €"),
        (-20, '"$"#,##0_);[Red]("$"#,##0)', "($20)"),
        (2.675, "0.00", "2.68"),
        (0, ACCOUNTING, "-   €"),
        (1, '"yes";;"no"', "yes"),
        (2.5, 'General" km"', "2.5 km"),
        (1, ";;;", None),
        (12345, "0.00E+00", None),
        (5, None, None),
    ],
)
def test_numbers(number: float, code: str | None, expected: str | None):
    assert Shown(number, code, str(number)).text == expected


@each_case(
    ("value", "code", "expected"),
    [
        (AT, "yyyy-mm-dd h:mm:ss", "2023-03-05 18:07:09"),
        (AT, "h:mm AM/PM", "6:07 PM"),
        (AT, "[$-409]d mmmm yyyy;@", "5 March 2023"),
        (AT, "[$-407]d mmmm yyyy", None),
        (AT, "[$-F800]dddd, mmmm dd, yyyy", None),
        (date(2023, 3, 5), 'yyyy"年"m"月"d"日"', "2023年3月5日"),
        (timedelta(hours=36, minutes=5), "[h]:mm", "36:05"),
        (time(6), "yyyy-mm-dd", None),
    ],
)
def test_dates_and_times(value: object, code: str, expected: str | None):
    assert Shown(value, code, "1").text == expected
    assert Shown(value, code, "-1").text is None
