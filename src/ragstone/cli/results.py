"""The outputs that the options of results mean."""

from pathlib import Path
from typing import cast

from ragstone.cli.outcome import WRITERS, Outputs
from ragstone.cli.result_options import Given


def outputs_of(given: Given, *, export: bool | None = None) -> Outputs:
    """Return where the results go; `export` stands in for --no-export."""
    said = cast("dict[str, Path | None]", given)
    return Outputs(
        workbook=given["output"],
        export=not given["no_export"] if export is None else export,
        files={name: path for name in WRITERS if (path := said[name]) is not None},
        verbose=given["verbose"],
    )
