"""RouterJudge: each kind of question to its own judge."""

from collections.abc import Mapping
from typing import TypeVar

from ragstone.judges.base import Judge, MultiJudge, reply_of
from ragstone.types.questions import Question
from ragstone.types.reply import Reply

T = TypeVar("T")


class RouterJudge(MultiJudge):
    """Asks the judge in `routes` for a kind of question, else `default`.

    It has the name of the default, because a plan names that one; its description has the others.
    """

    def __init__(self, routes: Mapping[str, Judge], default: Judge) -> None:
        super().__init__((default, *routes.values()))
        self._routes = dict(routes)
        self._default = default
        self.name = default.name
        parts = [default.description] if default.description else []
        for kind, judge in sorted(routes.items()):
            what = f" ({judge.description})" if judge.description else ""
            parts.append(f"{kind} by {judge.name}{what}")
        self.description = "; ".join(parts)
        if default.kinds is not None:
            taken = {kind for kind in routes if self.takes(kind)}
            self.kinds = frozenset(default.kinds - routes.keys() | taken)

    def takes(self, kind: str) -> bool:
        """Return whether the judge for that kind takes it."""
        return self._judge(kind).takes(kind)

    def identity(self, kind: str) -> str | None:
        """Return the identity of the judge for that kind."""
        return self._judge(kind).identity(kind)

    def setup(self, kind: str) -> str | None:
        """Return the setup of the judge for that kind."""
        return self._judge(kind).setup(kind)

    async def answer(self, question: Question[T]) -> Reply[T]:
        """Ask the judge for that kind."""
        return await reply_of(self._judge(question.kind), question)

    def _judge(self, kind: str) -> Judge:
        return self._routes.get(kind, self._default)
