"""docs/local-models.md: its recipes are short, and every judge in it is one that can be named."""

import re
from pathlib import Path

from tests.cases import each_case

from ragstone.judges.local.model import Head, LocalSettings
from ragstone.judges.spec import JudgeSpec

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/local-models.md").read_text(encoding="utf-8")
RECIPES = PAGE[PAGE.index("## Recipes") : PAGE.index("## Options")]
JUDGES = sorted(set(re.findall(r"--judge (local:\S+?)[`\s]", PAGE)))


def test_no_recipe_has_more_than_three_lines() -> None:
    blocks = re.findall(r"```bash\n(.*?)```", RECIPES, flags=re.DOTALL)
    assert [len(block.splitlines()) for block in blocks] == [2, 2, 2, 2]
    for name in ("NLI", "MiniCheck", "LettuceDetect", "HHEM"):
        assert re.search(rf"^\*\*[^*]*{name}", RECIPES, flags=re.MULTILINE)


@each_case("said", JUDGES)
def test_every_judge_of_the_page_can_be_named(said: str) -> None:
    name = JudgeSpec.of(said)
    settings = LocalSettings.of(name.options)
    if settings.labels:
        assert Head.of(None, settings, name.model)


def test_every_model_that_is_exported_has_a_link() -> None:
    exported = re.findall(r"--model (\S+)", RECIPES)
    scripts = re.findall(r"^python (\S+)", RECIPES, flags=re.MULTILINE)
    for script in scripts:
        exported += re.findall(r'"--model", default="(\S+)"', (ROOT / script).read_text("utf-8"))
    assert (len(scripts), len(exported)) == (1, 4)
    for model in exported:
        assert f"[{model}](https://huggingface.co/{model})" in RECIPES
