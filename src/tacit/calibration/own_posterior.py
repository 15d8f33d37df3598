"""What the rows themselves say: the posterior that nobody had to add noise for. For public tables and studies alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tacit.calibration.own_likelihood import LikelihoodDensity, likelihood_density
from tacit.errors import expected
from tacit.infer import check_settings, posterior_arrays
from tacit.models.likelihood_model import LikelihoodModel
from tacit.models.model import Problem
from tacit.models.moment_prior import MomentPrior
from tacit.models.moment_regression import MomentRegression
from tacit.models.score_method import score_prior
from tacit.models.score_model import ScoreLink, ScorePrior
from tacit.models.score_round import Round
from tacit.statistics.score_tables import STEPS

_DRAWS, _FEWEST, _PRODUCTS = 8000, 500, 4 * 10**8  # draws times distinct rows are all looked at


def from_sums(problem: Problem, exact: Any, *, seed: int) -> dict[str, Any]:
    """Draws (draws, ...) from the exact sums, taken for what they are, by the family's method ``naive``.

    Where sums are all that the likelihood needs of rows (shares, one column, linear regression) that is the rows' own.
    """
    if "naive" not in problem.model.methods:
        raise expected("family", problem.model.family, "to have a method that takes exact sums")
    settings = check_settings(warmup=500, draws=_DRAWS, chains=1, seed=seed)
    arrays, _ = posterior_arrays(problem, "naive", settings, [exact], chains=1, seed=seed)
    return {name: array[0, 0] for name, array in arrays.items()}


def from_rows(problem: Problem, columns: Mapping[str, Any], times: Any, *, seed: int) -> dict[str, Any]:
    """Draws of the coefficients from the rows' own likelihood, each row counted ``times`` over.

    The sums of a logistic or Poisson regression are not all that its likelihood needs, so the rows are taken: Newton's
    method finds the mode, and draws of a Student distribution around it are weighted by importance and resampled.
    """
    import numpy as np

    model, schema = problem.model, problem.schema
    assert isinstance(model, MomentRegression)
    sums = model.score_sums(schema)
    whole, _, _ = sums.rows(columns)  # the design as every release has it: clamped, rounded, moved into the ball
    cells = np.asarray(columns[sums.response])
    response = (cells == 1).astype(float) if sums.link == "logistic" else np.clip(np.rint(cells), 0, sums.most)
    design = whole / STEPS
    rows, places = np.unique(np.column_stack([design, response]), axis=0, return_inverse=True)
    counts = np.bincount(places.ravel(), weights=times, minlength=len(rows))
    mean, sd, radius = _prior(problem, design, response, times)
    own = _Density(rows[:, :-1], rows[:, -1], counts, model.score_link(schema), mean, sd, radius)
    return {"theta": _drawn(own, np.random.default_rng([seed, 0x0C7]))}


def from_likelihood(problem: Problem, columns: Mapping[str, Any], times: Any, *, seed: int) -> dict[str, Any]:
    """The same for a family that is a row's log-likelihood: its parameters by name."""
    import numpy as np

    model = problem.model
    assert isinstance(model, LikelihoodModel)
    draws = _drawn(likelihood_density(problem, columns, times), np.random.default_rng([seed, 0x0C7]))
    return dict(model.named(draws, problem.schema, np))


def _prior(problem: Problem, design: Any, response: Any, times: Any) -> tuple[Any, Any, float]:
    """Mean and sd of each coefficient in mapped units, and how far all of them together may lie from 0.

    A prior whose width follows from the release is the one that a release without noise would give.
    """
    import numpy as np

    from tacit.samplers.score_curve import curve_of

    model, prior = problem.model, problem.prior
    assert isinstance(model, MomentRegression)
    if isinstance(prior, MomentPrior):
        found = prior.numbers(model.cells(problem.schema))
        sd = np.asarray(found.theta_sd, float)
        return np.zeros(len(sd)), sd, float("inf") if found.radius is None else float(found.radius)
    assert isinstance(prior, ScorePrior)
    p, link = design.shape[1], model.score_link(problem.schema)
    gram = (design * times[:, None]).T @ design
    at_zero = float(curve_of(link.kind, link.clamp).information(0.0)) * gram
    scores = (_score(link)(np.zeros(len(design)), response) * times) @ design
    exact = Round((0.0,) * p, matrix=True, score_scale=1e-9, matrix_scale=1e-9, laplace=False)
    site = ([exact], [[*scores, *at_zero[np.triu_indices(p)]]], int(np.sum(times)))
    mean, sd = score_prior(prior, site, model, problem.schema)
    return mean, sd, float("inf")


@dataclass(frozen=True, eq=False)
class _Density:
    """The log posterior of the coefficients: distinct rows with their counts, a link, and a normal prior."""

    design: Any
    response: Any
    counts: Any
    link: ScoreLink
    mean: Any
    sd: Any
    radius: float

    @property
    def size(self) -> int:
        """The number of distinct rows."""
        return len(self.response)

    def log_density(self, thetas: Any) -> Any:
        """Up to a constant, for each of ``thetas`` (some, p)."""
        import numpy as np

        said = _log_likelihood(self.link)(thetas @ self.design.T, self.response) @ self.counts
        said = said - np.sum(((thetas - self.mean) / self.sd) ** 2, 1) / 2
        return np.where(np.linalg.norm(thetas, axis=1) <= self.radius, said, -np.inf)

    def gradient(self, theta: Any) -> Any:
        """Of the log density at one theta."""
        score = _score(self.link)(self.design @ theta, self.response) * self.counts
        return score @ self.design - (theta - self.mean) / self.sd**2

    def curvature(self, theta: Any) -> Any:
        """Minus the second derivative, by differences of the gradient; every link here is log-concave."""
        import numpy as np

        steps = 1e-5 * np.eye(len(theta))
        found = np.stack([(self.gradient(theta - s) - self.gradient(theta + s)) / 2e-5 for s in steps])
        return (found + found.T) / 2


def _log_likelihood(link: ScoreLink) -> Callable[[Any, Any], Any]:
    """The log-likelihood of a response given its linear predictor, up to a constant."""
    import numpy as np
    from scipy.special import gammainc

    def logistic(eta: Any, y: Any) -> Any:
        return y * eta - np.logaddexp(0, eta)

    def count(eta: Any, y: Any) -> Any:
        rate = np.maximum(_rate(eta, link)[0], 1e-300)
        at_most = np.log(np.maximum(gammainc(float(link.clamp or 1), rate), 1e-300))  # P(count >= clamp)
        return np.where(y >= link.clamp, at_most, y * np.log(rate) - rate)

    return logistic if link.kind == "logistic" else count


def _score(link: ScoreLink) -> Callable[[Any, Any], Any]:
    """The derivative of `_log_likelihood` with respect to the linear predictor."""
    import numpy as np
    from scipy.special import expit, gammainc, gammaln

    def logistic(eta: Any, y: Any) -> Any:
        return y - expit(eta)

    def count(eta: Any, y: Any) -> Any:
        rate, slope = _rate(eta, link)
        rate, clamp = np.maximum(rate, 1e-300), float(link.clamp or 1)
        density = np.exp((clamp - 1) * np.log(rate) - rate - gammaln(clamp))  # of P(count >= clamp), in the rate
        above = np.where(rate < 1e-8, clamp / rate, density / np.maximum(gammainc(clamp, rate), 1e-300))
        return slope * np.where(y >= clamp, above, y / rate - 1)

    return logistic if link.kind == "logistic" else count


def _rate(eta: Any, link: ScoreLink) -> tuple[Any, Any]:
    """The mean of a count before clamping, and its derivative."""
    import numpy as np
    from scipy.special import expit

    if link.kind == "log":
        rate = np.exp(np.minimum(eta, 20.0))
        return rate, np.where(eta < 20.0, rate, 0.0)
    return np.logaddexp(0, eta), expit(eta)


def _drawn(own: _Density | LikelihoodDensity, rng: Any) -> Any:
    """Draws from the density, by importance resampling around its mode."""
    import numpy as np

    theta = _mode(own)
    p, rows = len(theta), own.size
    root = np.linalg.inv(np.linalg.cholesky(own.curvature(theta))).T
    products = _PRODUCTS // (20 if isinstance(own, LikelihoodDensity) else 1)
    draws = 2 * int(np.clip(products // rows, _FEWEST, _DRAWS) // 2)
    freedom = 8 + 2 * p  # in many dimensions the length of a vector of few degrees of freedom varies too much
    half = rng.standard_normal((draws // 2, p))
    normal, chi = np.concatenate([half, -half]), np.tile(rng.chisquare(freedom, draws // 2) / freedom, 2)
    for _ in range(2):  # so that of a normal density mean and covariance come out exactly, and of others nearly so
        squares = np.sum(normal**2, 1) / chi
        exact = np.exp((freedom + p) / 2 * np.log1p(squares / freedom) - squares / 2) / chi
        spread = (normal * (exact / np.sum(exact * chi))[:, None]).T @ normal
        normal = normal @ np.linalg.inv(np.linalg.cholesky(spread)).T
    proposed = theta + (normal / np.sqrt(chi)[:, None]) @ root.T
    parts = np.array_split(proposed, max(1, draws * rows // 10**7))
    weight = np.concatenate([own.log_density(part) for part in parts])
    weight += (freedom + p) / 2 * np.log1p(np.sum(normal**2, 1) / chi / freedom)
    weight = np.exp(weight - weight.max())
    # evenly spaced places in the distribution function: less variable than draws that are independent
    places = (np.arange(draws) + rng.random()) / draws
    return proposed[np.minimum(np.searchsorted(np.cumsum(weight / weight.sum()), places), draws - 1)]


def _mode(own: _Density | LikelihoodDensity) -> Any:
    """The mode of the log density: Newton's method, each step halved until it goes uphill."""
    import numpy as np

    theta = np.zeros(len(own.mean))
    here = float(own.log_density(theta[None])[0])
    for _ in range(100):
        step = np.linalg.solve(own.curvature(theta), own.gradient(theta))
        for _ in range(40):
            there = float(own.log_density((theta + step)[None])[0])
            if there >= here:
                break
            step = step / 2
        else:
            break
        theta, moved = theta + step, there - here
        here = there
        if moved < 1e-9:
            break
    return theta
