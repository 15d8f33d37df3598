"""What the price of an entry rests on, for entries of every version."""

from __future__ import annotations

from tacit.errors import InputError
from tacit.privacy.basis import Basis
from tacit.privacy.events import Event, GaussianEvent

_NEVER_A_CHAIN = ("laplace", "pure", "response-gaussian", "conjugate", "subsampled-gaussian")


def read_basis(event: Event, said: object) -> Basis | None:
    """What a spend of ``event`` rests on, ``said`` being what the entry has; None where it cannot be told.

    Entries of earlier versions say nothing. Their event settles it where no Markov chain was ever charged by one of
    its kind; elsewhere (a bounded range, a Gaussian price without slack, a distance) either may have been meant.
    """
    if said is not None:
        if said != event.basis.value:
            raise InputError(f"its basis is not that of its event, {event.basis.value!r}")
        return event.basis
    if event.kind in _NEVER_A_CHAIN or (isinstance(event, GaussianEvent) and event.slack > 0):
        return Basis.PROVED
    return event.basis if event.basis is Basis.ASSUMED else None
