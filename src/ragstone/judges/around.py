"""AroundJudge: a judge around a judge."""

from ragstone.judges.base import Judge


class AroundJudge(Judge):
    """A judge around a judge: is called as it is, takes what it takes, opens and closes it."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.name = judge.name
        self.description = judge.description
        self.kinds = judge.kinds
        self.tags = judge.tags
        self._parts = (judge,)

    def takes(self, kind: str) -> bool:
        """Tell whether the judge within takes it."""
        return self.judge.takes(kind)

    def identity(self, kind: str) -> str | None:
        """Return the identity of the judge within."""
        return self.judge.identity(kind)
