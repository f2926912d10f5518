"""AroundJudges: a judge around several judges."""

from collections.abc import Iterable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

from ragstone.judges.base import Judge


class AroundJudges(Judge):
    """Opens and closes the judges within, each once however often it is named.

    Its prompts name the tags that theirs name. It has no identity unless a subclass gives it one:
    what is kept is the replies of the judges within.
    """

    def __init__(self, judges: Iterable[Judge]) -> None:
        self.judges = tuple(judges)
        self.tags = frozenset(tag for judge in self.judges for tag in judge.tags)
        self._opened = AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Open the judges within; where one cannot be opened, none is left open."""
        async with AsyncExitStack() as stack:
            for judge in {id(judge): judge for judge in self.judges}.values():
                await stack.enter_async_context(judge)
            self._opened = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the judges within, the last one first."""
        await self._opened.__aexit__(kind, error, trace)
