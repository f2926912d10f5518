"""ClaimOrigins: whose claims a score's are, the response's or the reference's."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal

from ragstone.claims import JudgedClaim
from ragstone.errors import RagstoneError
from ragstone.metrics import get
from ragstone.metrics.families.checks import Check
from ragstone.metrics.families.claim_asker import ClaimVerifier

Of = Literal["response", "reference"]


def origins(metric: str, claims: Sequence[JudgedClaim]) -> list[Of]:
    """Return for each claim of a metric's score whose it is.

    Scores hold the claims of one check after the other's, and checks that follow one another
    differ in what their claims are held against.
    """
    if not claims:
        return []
    checks = iter(_checks(metric))
    return list(_told(claims, checks))


def _told(claims: Sequence[JudgedClaim], checks: Iterator[Check]) -> Iterator[Of]:
    check: Check | None = None
    for claim in claims:
        while check is None or check.against != claim.against:
            check = next(checks, None) or _likely(claim)
        yield check.of


def _likely(claim: JudgedClaim) -> Check:
    """Return the commonest check against those texts: for a metric that is not loaded."""
    return Check("reference" if claim.against == "response" else "response", claim.against)


@lru_cache(maxsize=256)
def _checks(name: str) -> tuple[Check, ...]:
    try:
        metric = get(name)
    except RagstoneError:
        return ()
    return metric.active_checks if isinstance(metric, ClaimVerifier) else ()
