"""Pace: starts that keep a distance, one after the other."""

import asyncio


class Pace:
    """Spaces starts: at least `delay` seconds from one turn to the next, and none while held."""

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._line = asyncio.Lock()
        self._next = 0.0

    async def turn(self) -> None:
        """Wait in line until the next one may start."""
        loop = asyncio.get_running_loop()
        async with self._line:
            while (wait := self._next - loop.time()) > 0:  # noqa: ASYNC110 - a hold may come meanwhile
                await asyncio.sleep(wait)
            self._next = loop.time() + self._delay

    def hold(self, seconds: float) -> None:
        """Let nothing start for so many seconds."""
        self._next = max(self._next, asyncio.get_running_loop().time() + seconds)
