"""A private chain on the beta-divergence posterior, as a density that draws are made from (jewson2023, Proposition 3).

The chain aims at the density proportional to exp(-weight * sum_i l(theta, row_i)) * prior(theta), and sees the rows by
noisy sums alone. Its privacy is that of the sums, whatever the chain does with them and however far it is from the
density when it stops: nothing is assumed about convergence. What noise and shortness cost is accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tacit.errors import expected
from tacit.mechanisms.iterative.noisy_loss import START, NoisyLoss
from tacit.mechanisms.iterative.private_sums import Answer, PriorTerms, PrivateSums
from tacit.mechanisms.iterative.row_bounds import RowBounds, row_bounds
from tacit.mechanisms.posterior_sample.beta_divergence import beta_divergence
from tacit.mechanisms.posterior_sample.loss import Numbers, positive
from tacit.mechanisms.private_chain.chain_settings import ChainSettings, default_step_size
from tacit.models.model import Model
from tacit.noise.entropy import Entropy
from tacit.noise.noisy_steps import NoisySteps, calibrated_steps, chance_below
from tacit.privacy.beta_divergence import check_beta
from tacit.privacy.events import Event
from tacit.privacy.guarantees import Guarantee
from tacit.schema import Schema


@dataclass(frozen=True)
class ChainLoss(NoisyLoss):
    """``chain`` is how the loss is walked on."""

    chain: ChainSettings

    @property
    def sampler(self) -> str:
        """The chain."""
        return self.chain.chain

    def row_bounds(self, numbers: Numbers) -> RowBounds:
        """How far one row moves what is asked."""
        return row_bounds(self.inner, numbers["beta"], self.chain.clip)

    def calibrate(self, budget: Guarantee) -> dict[str, float]:
        """The least noise for the budget, and the length of steps that goes with it unless it was said.

        ``scale`` is the noise in whole units, of which a row's longest vector has `NoisySteps.radius`.
        """
        beta, weight = self.chain.beta, self.chain.weight
        self.inner.density.checked_beta(beta)
        steps = calibrated_steps(budget, chance_below(self.chain.rate), self.chain.sums)
        numbers = {"beta": beta, "weight": weight, "rate": self.chain.rate, "scale": float(steps.scale)}
        slope = self.row_bounds(numbers).slope
        longest = default_step_size(
            self.chain, slope, float(steps.multiplier), self.inner.density.sd, len(self.parameters)
        )
        size = self.chain.step_size
        if size is not None and self.chain.chain == "sgld":
            noise = weight * slope * float(steps.multiplier) / self.chain.rate
            if size > 4 / noise**2 * (1 + 1e-9):
                raise expected("step_size", size, f"to be at most {4 / noise**2:.6g}: the noise would swamp the steps")
        return {**numbers, "step_size": longest if size is None else float(size)}

    def steps(self, numbers: Numbers) -> NoisySteps:
        """The law of the noisy sums; refuses numbers that make no sense."""
        scale, rate = numbers.get("scale", 0.0), numbers.get("rate", 0.0)
        if rate != self.chain.rate:
            raise expected("rate", rate, f"to be batch / n, {self.chain.rate:g}")
        if not (math.isfinite(scale) and scale == int(scale) and scale >= 1):
            raise expected("scale", scale, "to be a whole number, at least 1")
        for name in ("weight", "step_size"):
            positive(name, numbers.get(name))
        self.inner.density.checked_beta(check_beta(numbers.get("beta")))
        return NoisySteps(int(scale), chance_below(rate), self.chain.sums)

    def event(self, numbers: Numbers) -> Event:
        """That of all noisy sums.

        Proof: `PrivateSums` gives at most ``chain.sums`` answers, each a step of `NoisySteps`, whose states, bounds and
        lattices follow from earlier answers and public coins. The chain's states are functions of the answers and such
        coins, so all of them together cost what the answers cost, by adaptive composition (`SubsampledGaussian`); the
        ones that are released are among them. n is public under replace-one. []
        """
        return self.steps(numbers).event()

    def assumes(self, numbers: Numbers) -> tuple[str, ...]:
        """Nothing about the chain; time is not protected."""
        return ("nobody sees how long the chain took",)

    def draw(self, numbers: Numbers, collected: Any, n: int, entropy: Entropy) -> Sequence[Sequence[float] | None]:
        """The last states of a chain, oldest first."""
        chain = self.chain
        states = self.states(numbers, collected, n, entropy)[:: -chain.thin][: chain.draws]
        return [self.inner.released(state) for state in reversed(states)]

    def states(
        self, numbers: Numbers, collected: Any, n: int, entropy: Entropy, record: list[Answer] | None = None
    ) -> list[Any]:
        """All states of one chain; ``record`` is filled with the noisy sums that it asked for."""
        import numpy as np

        from tacit.private_samplers.entropy_arrays import EntropyNumbers

        evidence = self.evidence(numbers, collected, entropy, record)
        prior = PriorTerms(evidence.loss)
        rng = EntropyNumbers(entropy)  # proposals and momenta
        size, steps = float(numbers["step_size"]), self.chain.steps
        start, width = np.asarray(self.inner.density.wide)
        if self.inner.density.rugged:  # a network at its prior's centre does not know which way to go
            start = start + START * width * rng.standard_normal(len(start))
        if self.chain.chain == "sgld":
            from tacit.private_samplers.private_langevin import langevin_chain

            return langevin_chain(evidence, prior, start, steps=steps, size=size, rng=rng)
        if self.chain.chain == "hmc":
            from tacit.private_samplers.private_hamiltonian import hamiltonian_chain

            leaps = self.chain.jumps
            return hamiltonian_chain(evidence, prior, start, steps=steps, size=size, leaps=leaps, rng=rng)
        from tacit.private_samplers.private_tests import Barker, Penalty
        from tacit.private_samplers.private_walk import walk

        test = Barker() if self.chain.chain == "barker" else Penalty()
        return walk(evidence, prior, start, steps=steps, size=size, test=test, rng=rng)

    def evidence(
        self, numbers: Numbers, collected: Any, entropy: Entropy, record: list[Answer] | None = None
    ) -> PrivateSums:
        """The rows behind their noise."""
        x, y = collected.arrays()
        loss = replace(self.inner, power=float(numbers["beta"]))
        bounds = self.row_bounds(numbers)
        return PrivateSums(loss, float(numbers["weight"]), bounds, self.steps(numbers), x, y, entropy, record)


def chain_loss(model: Model, schema: Schema, chain: ChainSettings) -> ChainLoss:
    """The chain of a plan, refused where it does not fit."""
    _ = chain.rate
    inner = beta_divergence(model, schema, chain.loss_settings())
    found = ChainLoss(inner, chain)
    found.row_bounds({"beta": chain.beta})
    return found
