"""Written number: the values that digits with points, commas and spaces can stand for."""

import re
from collections.abc import Mapping


def read_number(digits: str) -> Mapping[float, float]:
    """Return the values that a number written with points, commas and spaces can stand for.

    Each with what a one in its last digit is worth: 2500 is exact to the one, 2.5 to the tenth.
    """
    plain = re.sub(r"[\s'’٬\u00a0\u202f]", "", digits).replace("٫", ".")
    points, commas = plain.count("."), plain.count(",")
    if points and commas:
        decimal = max(plain.rfind("."), plain.rfind(","))
        whole, part = re.sub("[.,]", "", plain[:decimal]), plain[decimal + 1 :]
        return {float(f"{whole}.{part}"): 10.0 ** -len(part)}
    if points + commas > 1:
        return {float(re.sub("[.,]", "", plain)): 1.0}
    if points + commas == 1:
        whole, part = re.split("[.,]", plain)
        values = {float(f"{whole}.{part}"): 10.0 ** -len(part)}
        if len(part) == 3 and len(whole) <= 3 and whole.strip("0"):
            values[float(whole + part)] = 1.0
        return values
    return {float(plain): 1.0}
