"""Write the list of docs/settings.md and docs/ragstone.schema.json from the declared settings.

Run it as `python scripts/make_settings_page.py` after a setting changed.
"""

import json
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "settings.md"
SCHEMA = DOCS / "ragstone.schema.json"
BEGIN = "<!-- settings: written by scripts/make_settings_page.py -->\n"
END = "<!-- end of settings -->\n"


def listing() -> str:
    """Return the names of the settings with an option, and the others with what they mean."""
    from ragstone.types.config import SETTINGS

    named, others = list[str](), list[str]()
    for setting in SETTINGS.values():
        keys = " or ".join(f"`{key}`" for key in (setting.name, *setting.keys))
        flag = "--" + setting.name.replace("_", "-")
        if not setting.option:
            default = f" Default: {setting.default}." if setting.default else ""
            others.append(f"* {keys}: {setting.description}{default}")
        elif any(each.startswith(flag) for each in setting.flags):
            named.append(keys)
        else:
            named.append(f"{keys} (`{setting.flags[-1]}`)")
    return "\n".join([f"With an option: {', '.join(named)}.\n", "With `--set`:\n", *others])


def page(text: str) -> str:
    """Return the page with its list written again."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{listing()}\n{END}{after}"


def schema() -> str:
    """Return the JSON Schema of a config file."""
    from ragstone.types.config import settings_schema

    return json.dumps(settings_schema(), indent=2) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    SCHEMA.write_text(schema(), encoding="utf-8")
