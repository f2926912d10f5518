"""Write the table of docs/config.md and docs/ragstone.schema.json from the declared settings.

Run it as `python scripts/make_settings_page.py` after a setting changed.
"""

import json
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "config.md"
SCHEMA = DOCS / "ragstone.schema.json"
BEGIN = "<!-- settings: written by scripts/make_settings_page.py -->\n"
END = "<!-- end of settings -->\n"


def table() -> str:
    """Return one Markdown table per group of settings."""
    from ragstone.types.config import GROUPS, SETTINGS

    parts: list[str] = []
    for group in GROUPS:
        lines = [f"### {group}\n", "| key | option | default | meaning |", "|---|---|---|---|"]
        for setting in SETTINGS.values():
            if setting.group == group:
                keys = ", ".join(f"`{key}`" for key in (setting.name, *setting.keys))
                flags = ", ".join(f"`{flag}`" for flag in setting.flags)
                if not setting.option:
                    flags = f"`--set {setting.name}=...`"
                default = f"`{setting.default}`" if setting.default else ""
                meaning = setting.description.replace("|", "\\|")
                lines.append(f"| {keys} | {flags} | {default} | {meaning} |")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def page(text: str) -> str:
    """Return the page with its tables written again."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def schema() -> str:
    """Return the JSON Schema of a config file."""
    from ragstone.types.config import settings_schema

    return json.dumps(settings_schema(), indent=2) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    SCHEMA.write_text(schema(), encoding="utf-8")
