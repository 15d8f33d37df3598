"""The posterior: draws, their file, and what is said about them."""

from tacit.posterior.nested import NestedComparison as NestedComparison
from tacit.posterior.posterior import Posterior as Posterior
from tacit.posterior.ranking import Rank as Rank
from tacit.posterior.rows import Prediction as Prediction
from tacit.posterior.rows import PriorRow as PriorRow
from tacit.posterior.rows import Row as Row
