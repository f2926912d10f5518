"""Base class of resources that open and close together with their parts."""

from contextlib import AbstractAsyncContextManager, AsyncExitStack
from types import TracebackType
from typing import Self


class AsyncResource:
    """Opens its parts, each once even if listed several times, and closes them again.

    Use as `async with`; entered again within itself, it stays open until the last one leaves. A
    subclass sets `_parts`; where one cannot be opened, none is left open.
    """

    _parts: tuple[AbstractAsyncContextManager[object], ...] = ()
    _open: AsyncExitStack
    _entered = 0

    async def __aenter__(self) -> Self:
        """Open the parts, the first one first."""
        if not self._entered:
            async with AsyncExitStack() as stack:
                for part in {id(part): part for part in self._parts}.values():
                    await stack.enter_async_context(part)
                self._open = stack.pop_all()
        self._entered += 1
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close them, the last one first."""
        self._entered -= 1
        if not self._entered:
            await self._open.__aexit__(kind, error, trace)
