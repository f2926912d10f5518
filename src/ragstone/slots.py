"""Slots: so many calls at once, fewer after a server said "too many", and slowly more again."""

import asyncio
from collections import deque
from types import TracebackType


class Slots:
    """At most `most` holders at once; use as `async with slots`. First come, first served."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._limit = float(most)
        self._busy = 0
        self._line: deque[asyncio.Future[None]] = deque()
        self._narrowed_at = 0.0

    @property
    def limit(self) -> int:
        """How many may hold a slot just now."""
        return int(self._limit)

    async def __aenter__(self) -> None:
        if self._busy < self.limit and not self._line:
            self._busy += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._line.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # the slot was given just now
                self._leave()
            elif turn in self._line:  # else it was passed over already
                self._line.remove(turn)
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave()

    def narrow(self, open_recorder: float) -> None:
        """Halve the slots after a refused call that began at that time of the loop's clock.

        Calls that had begun before the last halving are of the same crowd and halve nothing.
        """
        if open_recorder >= self._narrowed_at:
            self._narrowed_at = asyncio.get_running_loop().time()
            self._limit = max(1.0, self._limit / 2)

    def widen(self) -> None:
        """Add a slot after as many answered calls as there are slots."""
        if self._limit < self._most:
            self._limit = min(float(self._most), self._limit + 1 / self._limit)
            self._admit()

    def _leave(self) -> None:
        self._busy -= 1
        self._admit()

    def _admit(self) -> None:
        while self._line and self._busy < self.limit:
            turn = self._line.popleft()
            if not turn.done():
                self._busy += 1
                turn.set_result(None)
