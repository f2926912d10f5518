"""Figures in words: how a number is written for people, alike in every report."""

NOTHING = "–"
"""What stands for a number that there is not."""


def decimal(value: float | None) -> str:
    """Write a score with four decimals."""
    return NOTHING if value is None else f"{value + 0.0:.4f}"


def interval(bounds: tuple[float, float] | None) -> str:
    """Write an interval by its ends."""
    return NOTHING if bounds is None else f"{decimal(bounds[0])} – {decimal(bounds[1])}"


def percent(share: float) -> str:
    """Write a share (0 to 1) as a percentage."""
    return f"{share:.1%}"


def milliseconds(value: float | None) -> str:
    """Write a duration, given in milliseconds."""
    return NOTHING if value is None else f"{value:,.0f} ms"


def dollars(value: float) -> str:
    """Write an amount of US dollars; small ones with more decimals."""
    return f"${value:,.2f}" if value >= 1 else f"${value:,.4f}"
