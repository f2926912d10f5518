"""Evidence: the quotes of a reply, looked up in the contexts they are said to be from."""

from collections.abc import Iterator

from ragstone.claims import Evidence
from ragstone.judges.reading.items import Quote
from ragstone.places import QuoteFinder


class Sources:
    """The contexts of one question; each is made ready for looking up once, when it is needed."""

    def __init__(self, contexts: tuple[str, ...]) -> None:
        self._contexts = contexts
        self._finders: dict[int, QuoteFinder] = {}

    def evidence(self, quotes: tuple[Quote, ...]) -> tuple[Evidence, ...]:
        """Look quotes up, each in the context that it names, else in the others, in order.

        A quote that stands nowhere is not verified and has no place. Without contexts there is
        no evidence.
        """
        return tuple(self._found(quote) for quote in quotes) if self._contexts else ()

    def _found(self, quote: Quote) -> Evidence:
        number, words = quote
        named = number - 1 if number and 1 <= number <= len(self._contexts) else 0
        for context in self._order(named):
            if span := self._finder(context).find(words):
                start, end = span
                return Evidence(context=context, start=start, end=end, quote=words, verified=True)
        return Evidence(context=named, quote=words, verified=False)

    def _order(self, named: int) -> Iterator[int]:
        yield named
        for context in range(len(self._contexts)):
            if context != named:
                yield context

    def _finder(self, context: int) -> QuoteFinder:
        if context not in self._finders:
            self._finders[context] = QuoteFinder(self._contexts[context])
        return self._finders[context]
