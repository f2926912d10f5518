"""Again: what a model is told when its first reply could not be used."""

from functools import lru_cache
from importlib.resources import files

from ragstone.judges.prompts.sections import sections

INCOMPLETE = "incomplete"
"""What a reply was that leaves something out; the other reasons are causes."""

REASONS = ("refusal", "truncated", "malformed", "count_mismatch", INCOMPLETE)


@lru_cache(maxsize=1)
def source() -> str:
    """Return the file's text, which is part of what shapes a reply."""
    return files("ragstone.judges.prompts").joinpath("again.md").read_text(encoding="utf-8")


@lru_cache(maxsize=len(REASONS))
def again(reason: str) -> str:
    """Return what is said for a reason; it quotes nothing of the reply."""
    return sections(source(), REASONS)[reason]
