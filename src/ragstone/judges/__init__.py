"""Judges by name."""

from ragstone.errors import UnknownName, UsageError
from ragstone.judges.base import Judge
from ragstone.judges.offline import OfflineJudge

__all__ = ["Judge", "OfflineJudge", "get_judge"]


def get_judge(name: str) -> Judge:
    """Return the judge of that name.

    Raises:
        UsageError: the name stands for an LLM; this version has no LLM judge.
        UnknownName: the name stands for nothing.
    """
    if name == OfflineJudge.name:
        return OfflineJudge()
    if ":" in name:
        raise UsageError(
            f"the judge {name} is an LLM, and this version has no LLM judge yet; use "
            f"--judge {OfflineJudge.name} (the default: no key, no network)"
        )
    raise UnknownName("judge", name, [OfflineJudge.name])
