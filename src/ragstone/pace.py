"""Pace: starts that keep a distance, one after the other."""

import asyncio


class Pace:
    """Spaces starts: one turn after the other, and none while held."""

    def __init__(self, delay: float = 0.0) -> None:
        self._delay = delay
        self._line = asyncio.Lock()
        self._next = 0.0

    async def turn(self, after: float = 0.0) -> None:
        """Wait in line until the next one may start.

        The one that follows waits `after` seconds, `delay` at the least.
        """
        loop = asyncio.get_running_loop()
        if self._next <= (now := loop.time()) and not self._line.locked():
            self._next = now + max(self._delay, after)
            return
        async with self._line:
            while (wait := self._next - loop.time()) > 0:  # noqa: ASYNC110 - a hold may come meanwhile
                await asyncio.sleep(wait)
            self._next = loop.time() + max(self._delay, after)

    def hold(self, seconds: float) -> None:
        """Let nothing start for so many seconds."""
        self._next = max(self._next, asyncio.get_running_loop().time() + seconds)
