"""Base class of resources that open and close together with their parts."""

from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Self


class AsyncResource:
    """Opens its parts, each once even if listed several times, and closes them again.

    Use as `async with`, which can be nested: the outermost block closes it. A subclass sets
    `_parts`; if one cannot be opened, the others are closed.
    """

    _parts: tuple[AbstractAsyncContextManager[object], ...] = ()
    _open: AsyncExitStack
    _entered = 0

    @property
    def parts(self) -> tuple[AbstractAsyncContextManager[object], ...]:
        """What is opened and closed with it."""
        return self._parts

    async def __aenter__(self) -> Self:
        """Open the parts in order."""
        if not self._entered:
            async with AsyncExitStack() as stack:
                for part in {id(part): part for part in self._parts}.values():
                    await stack.enter_async_context(part)
                self._open = stack.pop_all()
        self._entered += 1
        return self

    async def __aexit__(self, *raised: object) -> None:
        """Close the parts, the last one first."""
        self._entered -= 1
        if not self._entered:
            await self._open.aclose()
