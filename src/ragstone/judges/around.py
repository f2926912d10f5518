"""AroundJudge: a judge around a judge."""

from types import TracebackType
from typing import Self

from ragstone.judges.base import Judge


class AroundJudge(Judge):
    """A judge around a judge: is called as it is, takes what it takes, opens and closes it."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.name = judge.name
        self.description = judge.description
        self.kinds = judge.kinds
        self.tags = judge.tags

    async def __aenter__(self) -> Self:
        """Open the judge within."""
        await self.judge.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the judge within."""
        await self.judge.__aexit__(kind, error, trace)

    def takes(self, kind: str) -> bool:
        """Tell whether the judge within takes it."""
        return self.judge.takes(kind)

    def identity(self, kind: str) -> str | None:
        """Return the identity of the judge within."""
        return self.judge.identity(kind)
