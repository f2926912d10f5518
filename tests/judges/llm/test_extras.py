import builtins
import re

import pytest

from ragstone import evaluate
from ragstone.errors import UnknownNameError, UsageError
from ragstone.judges.llm.pydantic_ai import connect


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch):
    """Let imports of a package fail, as if it were not installed."""

    def hide(package: str) -> None:
        real = builtins.__import__

        def fails(name: str, *rest: object, **more: object) -> object:
            if name.partition(".")[0] == package:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
            return real(name, *rest, **more)

        monkeypatch.setattr(builtins, "__import__", fails)

    return hide


@pytest.mark.parametrize(
    ("provider", "extra"),
    [
        ("anthropic", "ragstone[anthropic]"),
        ("google", "ragstone[google]"),
        ("bedrock", "ragstone[bedrock]"),
        ("mistral", "ragstone[mistral]"),
        ("cohere", "pydantic-ai-slim[cohere]"),
    ],
)
def test_a_missing_extra_is_named(without, provider, extra):
    without("pydantic_ai")
    says = f"the judge {provider}:m needs an extra: pip install '{extra}'"
    row = {"query": "?", "response": "It is red.", "contexts": ["It is red."]}
    with pytest.raises(UsageError, match=re.escape(says)):
        evaluate([row], metrics="faithfulness", judge=f"{provider}:m")


@pytest.mark.parametrize("value", [None, ""])
def test_a_missing_key_is_named_with_the_way_around_it(monkeypatch, value):
    if value is None:
        monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    else:
        monkeypatch.setenv("ANTHROPIC_API_KEY", value)
    says = "anthropic:m has no key: set ANTHROPIC_API_KEY in the environment, or use judge=offline"
    with pytest.raises(UsageError, match=says):
        connect("anthropic", "m", timeout=1)


def test_an_unknown_provider_gets_the_nearest_name():
    with pytest.raises(UnknownNameError, match="did you mean 'anthropic'"):
        connect("antropic", "m", timeout=1)
