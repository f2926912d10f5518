"""AroundJudges: a judge around several judges."""

from collections.abc import Iterable

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
