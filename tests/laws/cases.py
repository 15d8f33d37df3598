"""What the laws run on: every registered family's examples, crossed with every kind of budget.

A new family is tested by being registered: nothing here names one.
"""

from __future__ import annotations

import tacit
from tacit.models.registry import FAMILIES

BUDGETS = {
    "pure": tacit.PureDP(1.0),
    "approximate": tacit.ApproxDP(1.0, 1e-6),
    "zcdp": tacit.ZCDP(0.5),
    "gdp": tacit.GDP(1.0),
    "renyi": tacit.RenyiDP(order=8.0, epsilon=2.0),
}

EXAMPLES = {
    f"{family}-{i}": example for family, model in FAMILIES.items() for i, example in enumerate(model.examples())
}

PLANS = {
    f"{name}-{kind}": tacit.Plan(model, schema, budget)
    for name, (model, schema) in EXAMPLES.items()
    for kind, budget in BUDGETS.items()
}

METHODS = {
    f"{name}-{method}": (model, schema, method)
    for name, (model, schema) in EXAMPLES.items()
    for method in model.methods
}
