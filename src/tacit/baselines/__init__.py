"""Published private estimators without a posterior, to compare with.

They are for comparisons on rows that may be seen: their noise is real-valued and comes from a numpy generator, and what
they cost holds in ideal arithmetic. What crosses the boundary with real rows is a mechanism of a plan.
"""

from tacit.baselines.adassp import adassp as adassp
from tacit.baselines.objective_perturbation import ObjectivePerturbation as ObjectivePerturbation
from tacit.baselines.output_perturbation import OutputPerturbation as OutputPerturbation
