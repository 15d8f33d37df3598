"""The posterior: draws, their file, and what is said about them."""

from tacit.posterior.posterior import Posterior as Posterior
from tacit.posterior.posterior import Prediction as Prediction
from tacit.posterior.posterior import PriorRow as PriorRow
from tacit.posterior.posterior import Row as Row
