"""Figure: a date or a quantity that a text states."""

from ragstone.judges.offline.dates import Date, find_dates
from ragstone.judges.offline.numbers import Quantity, find_quantities

Figure = Date | Quantity


def find_figures(text: str, name: str = "") -> tuple[Figure, ...]:
    """Return the dates and quantities of a text in order; what is a date is no quantity.

    `name` is the two-letter code of the text's language, in which its number words are read.
    """
    dates = find_dates(text)
    found = (*dates, *find_quantities(text, name, [(date.start, date.end) for date in dates]))
    return tuple(sorted(found, key=lambda figure: figure.start))


def covers(stated: Figure, claimed: Figure) -> bool:
    """Tell whether what a context states says all that is claimed.

    A bare year and a bare number of four digits may be meant for each other.
    """
    if isinstance(stated, Date) and isinstance(claimed, Date):
        return claimed.is_covered_by(stated)
    if isinstance(stated, Quantity) and isinstance(claimed, Quantity):
        return claimed.is_covered_by(stated)
    date, quantity = (stated, claimed) if isinstance(stated, Date) else (claimed, stated)
    if not isinstance(date, Date) or not isinstance(quantity, Quantity):
        return False
    return any((value, None, None) in date.readings for value in quantity.readings)


def differs(stated: Figure, claimed: Figure) -> bool:
    """Tell whether both figures answer the same question differently."""
    if isinstance(stated, Date) and isinstance(claimed, Date):
        return claimed.differs_from(stated)
    if isinstance(stated, Quantity) and isinstance(claimed, Quantity):
        return claimed.differs_from(stated)
    return False
