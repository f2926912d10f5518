"""AroundJudges: a judge around several judges."""

from collections.abc import Iterable

from ragstone.judges.around import AroundJudge
from ragstone.judges.base import Judge


class AroundJudges(Judge):
    """Opens and closes the judges within, each once however often it is named.

    Its prompts name the tags that theirs name. It has no identity unless a subclass gives it one:
    what is kept is the replies of the judges within.
    """

    def __init__(self, judges: Iterable[Judge]) -> None:
        self.judges = tuple(judges)
        self.tags = frozenset(tag for judge in self.judges for tag in judge.tags)
        self._parts = self.judges

    def setup(self, kind: str) -> str | None:
        """Return what tells it from another set-up of the same name, for the record of a run.

        As its identity, but judges within that have none are there by their name: what is known
        of the others is not forgotten for that. Nothing may be kept under it.
        """
        return self.identity(kind)


def setup_of(judge: Judge, kind: str) -> str | None:
    """Return what tells a judge from another set-up of the same name; None if nothing does."""
    if isinstance(judge, AroundJudge):
        return setup_of(judge.judge, kind)
    return judge.setup(kind) if isinstance(judge, AroundJudges) else judge.identity(kind)
