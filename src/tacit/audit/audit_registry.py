"""How each kind of mechanism is audited, by the type of what carries it out.

A mechanism that is not named here is attacked as a black box; a line here gives it an attack of its own.
"""

from __future__ import annotations

from functools import singledispatch

from tacit.audit.black_box import black_box
from tacit.audit.check import Check
from tacit.audit.effort import Effort
from tacit.audit.local_reports import local_reports
from tacit.audit.noisy_sums import noisy_sums
from tacit.audit.posterior_draws import posterior_draws
from tacit.audit.private_descent import private_descent
from tacit.audit.score_rounds import score_rounds
from tacit.mechanisms.add_noise import NoisySums
from tacit.mechanisms.dp_sgd.dp_sgd import DescentPoint
from tacit.mechanisms.mechanism import CalibratedMechanism
from tacit.mechanisms.posterior_sample.posterior_sample import PosteriorDraws
from tacit.mechanisms.private_chain.private_chain import ChainDraws
from tacit.mechanisms.score_rounds import ScoreRounds
from tacit.plan import Plan
from tacit.protocols.local_randomizer import LocalRandomizer


@singledispatch
def checks_of(subject: object, plan: Plan, effort: Effort) -> list[Check]:
    """All checks of a crossing or a client."""
    raise TypeError(f"no way to audit {type(subject).__name__}")


checks_of.register(CalibratedMechanism, black_box)
checks_of.register(NoisySums, noisy_sums)
checks_of.register(ScoreRounds, score_rounds)
checks_of.register(PosteriorDraws, posterior_draws)
checks_of.register(ChainDraws, private_descent)
checks_of.register(DescentPoint, private_descent)
checks_of.register(LocalRandomizer, local_reports)
