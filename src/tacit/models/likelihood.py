"""A likelihood of one's own: a family that is one function of a row and of parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from typing import Any, ClassVar, Self

from tacit._support.printable import in_prose
from tacit.errors import InputError, did_you_mean, expected
from tacit.models.effects import EffectDraws
from tacit.models.likelihood_declaration import Parameter, checked_declaration
from tacit.models.likelihood_model import LikelihoodModel, MadeUpRows
from tacit.models.likelihood_source import digest_of, known_function
from tacit.models.model import Example, Prior
from tacit.models.regression import parsed_points
from tacit.models.score_model import ScorePrior
from tacit.models.score_rows import draw_columns, raw_cells
from tacit.models.support import POSITIVE, SHARE
from tacit.numerics.even_points import even_points
from tacit.runtime.chain import Arrays
from tacit.schema import Category, Schema

_MOST_RESPONSES, _ROWS, _FINE = 512, 48, 8
_NODES = 96  # of a number that may be anything between its bounds


@dataclass(frozen=True)
class Likelihood(LikelihoodModel):
    """``log_density(row, parameters)`` is the logarithm of the density of ``response`` given the other columns.

    It is a JAX function of one row: ``row`` has a number for each of ``columns``, a category the place of its level;
    ``parameters`` has a number for each of them. ``clip`` is the length that a row's score is cut to, in units of one
    over the prior sds. ``whole`` says that a response that is a number takes whole values alone.
    """

    family: ClassVar[str] = "likelihood"
    about: ClassVar[str] = "a likelihood of your own"

    log_density: Callable[[Any, Any], Any] | None = field(compare=False)
    parameters: Mapping[str, Parameter] | tuple[tuple[str, Parameter], ...]
    columns: str | Sequence[str]
    response: str | Sequence[str]
    clip: float
    whole: bool = False
    name: str = ""
    digest: str = ""

    def __post_init__(self) -> None:
        if self.log_density is not None:
            object.__setattr__(self, "digest", digest_of(self.log_density))
            object.__setattr__(self, "name", self.name or self.log_density.__name__)
        parameters = dict(self.parameters) if isinstance(self.parameters, tuple) else self.parameters
        checked = checked_declaration(parameters, self.columns, self.response, self.clip, self.whole, self.name)
        for name, value in zip(("parameters", "columns", "response", "clip"), checked, strict=True):
            object.__setattr__(self, name, value)

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """None: everybody brings their own."""
        return ()

    @property
    def _declared(self) -> dict[str, Parameter]:
        return dict(self.parameters)

    @property
    def _function(self) -> Callable[[Any, Any], Any]:
        found = self.log_density or known_function(self.digest)
        if found is None:
            raise InputError(
                f"Expected the likelihood {self.name!r} (digest {self.digest[:12]}) to be made in this Python first by "
                "tacit.Likelihood with the same function: a file names it and never holds code."
            )
        return found

    def coordinates(self, schema: Schema) -> tuple[str, ...]:
        """The parameters."""
        self._check(schema)
        return tuple(name for name in self._declared)

    def read_columns(self, schema: Schema) -> tuple[str, ...]:
        """Those that it names."""
        return tuple(self.columns)

    def inputs(self, columns: Mapping[str, Any], schema: Schema) -> Arrays:
        """Numbers as they are, levels by their place."""
        import numpy as np

        kinds = {name: np.int64 if isinstance(schema.declared(name), Category) else np.float64 for name in self.columns}
        return {name: np.asarray(columns[name], kind) for name, kind in kinds.items()}

    def row_density(self, schema: Schema) -> Callable[[Any, Any], Any]:
        """The function, given parameters from coordinates in prior sds."""
        function = self._function

        def of_row(row: Any, t: Any) -> Any:
            import jax.numpy as jnp

            return function({name: row[name] for name in self.columns}, self.named(t, schema, jnp))

        return of_row

    def made_up_rows(self, schema: Schema) -> MadeUpRows:
        """Numbers spread evenly over their bounds, levels alike, with every response or a fine grid of them."""
        import numpy as np

        given = [name for name in self.columns if name not in self.response]
        count = _ROWS if given else 1
        spread = even_points(max(len(given), 1), count)
        grids = [self._responses(name, schema) for name in self.response]
        size = prod(len(values) for values, _ in grids)
        rows: Arrays = {}
        for name, share in zip(given, spread.T, strict=False):
            column = schema.declared(name)
            if isinstance(column, Category):
                cells: Any = (share * len(column.levels)).astype(np.int64)
            else:
                cells = column.low + (column.high - column.low) * share
            rows[name] = np.broadcast_to(cells[:, None], (count, size))
        meshes = np.meshgrid(*(values for values, _ in grids), indexing="ij")
        for name, mesh in zip(self.response, meshes, strict=True):
            rows[name] = np.broadcast_to(mesh.reshape(1, -1), (count, size))
        return MadeUpRows(rows, np.full((count, size), sum(width for _, width in grids)))

    def _responses(self, name: str, schema: Schema, nodes: int = _NODES) -> tuple[Any, float]:
        """What a response can be, and the logarithm of the width that each stands for."""
        import numpy as np

        column = schema.declared(name)
        if isinstance(column, Category):
            return np.arange(len(column.levels)), 0.0
        if self.whole and column.high - column.low < _MOST_RESPONSES:
            return np.arange(np.ceil(column.low), np.floor(column.high) + 1), 0.0
        width = (column.high - column.low) / nodes
        return column.low + width * (np.arange(nodes) + 0.5), float(np.log(width))

    def clip_length(self, schema: Schema) -> Fraction:
        """As it was said, to a multiple of 1/16."""
        return Fraction(max(1, round(16 * self.clip)), 16)

    def named(self, t: Any, schema: Schema, np: Any) -> Arrays:
        """Each parameter on its own scale."""
        return {
            name: one.value(one.mean + one.sd * t[..., place], np)
            for place, (name, one) in enumerate(self._declared.items())
        }

    def coordinate_prior(self, said: ScorePrior, mean: Any, sd: Any, schema: Schema) -> tuple[Any, Any]:
        """Standard normal, but for those whose mean and sd are said."""
        import numpy as np

        own, names = self._declared, list(self._declared)
        means, sds = np.zeros(len(names)), np.ones(len(names))
        for name, at, by in said.coefficients:
            if name not in own:
                raise expected("prior", name, f"to be a parameter: {', '.join(names)}{did_you_mean(name, names)}")
            place, declared = names.index(name), own[name]
            means[place], sds[place] = (at - declared.mean) / declared.sd, by / declared.sd
        return means, sds

    def changed_prior(self, default: Prior, changes: Mapping[str, Any], schema: Schema) -> Prior:
        """A parameter's name gives the mean and the sd of its value, its logarithm or its logit."""
        names = list(self._declared)
        for name in changes:
            if name not in names:
                raise expected("prior", name, f"to be a parameter: {', '.join(names)}{did_you_mean(name, names)}")
        return default.replaced({"coefficients": dict(changes)})

    def draw_rows(self, parameters: Arrays, schema: Schema, n: int, rng: Any) -> Arrays:
        """Covariates of many shapes, and responses drawn from the density on a fine grid."""
        import jax
        import jax.numpy as jnp
        import numpy as np

        from tacit.runtime.backend import float64, on_processor

        parsed = draw_columns([name for name in self.columns if name not in self.response], schema, n, rng)
        nodes = _NODES * _FINE if len(self.response) == 1 else _NODES
        grids = [self._responses(name, schema, nodes) for name in self.response]
        meshes = [mesh.reshape(-1) for mesh in np.meshgrid(*(values for values, _ in grids), indexing="ij")]
        values = {name: jnp.asarray(parameters[name]) for name in self._declared}

        def chosen(given: Any, key: Any) -> Any:
            def at(responses: Any) -> Any:
                row = {**given, **dict(zip(self.response, responses, strict=True))}
                return self._function({name: row[name] for name in self.columns}, values)

            logits = jax.vmap(at)(tuple(jnp.asarray(mesh) for mesh in meshes))
            return jax.random.categorical(key, jnp.where(jnp.isnan(logits), -jnp.inf, logits))

        with float64(), on_processor():
            keys = jax.random.split(jax.random.key(int(rng.integers(2**31))), n)
            program = jax.jit(lambda given: jax.lax.map(lambda one: chosen(*one), given, batch_size=min(n, 1024)))
            places = np.asarray(program(({name: jnp.asarray(cells) for name, cells in parsed.items()}, keys)))
        for name, mesh, (grid, width) in zip(self.response, meshes, grids, strict=True):
            inside = np.exp(width) * (rng.random(n) - 0.5) if width != 0.0 and len(grid) > 1 else 0.0
            parsed[name] = mesh[places] + inside
        return raw_cells(parsed, schema)

    def question(self, schema: Schema) -> str:
        """What are its parameters?"""
        return f"What are the parameters of {in_prose(self.name)}?"

    def effects(self, draws: Arrays, schema: Schema) -> list[EffectDraws]:
        """Every parameter, as it is."""
        return [EffectDraws(name, "amount", draws[name], f"{name} is ") for name in self._declared]

    def predict(self, draws: Arrays, schema: Schema, new: Any, rng: Any) -> Any:
        """Predictive draws of the response at new points, (draws, points), or with an axis more for several."""
        import jax
        import jax.numpy as jnp
        import numpy as np

        from tacit.runtime.backend import float64, on_processor

        given = [name for name in self.columns if name not in self.response]
        parsed = {name: jnp.asarray(cells) for name, cells in parsed_points(given, schema, new).items()}
        count = len(next(iter(parsed.values()))) if parsed else 1
        grids = [self._responses(name, schema)[0] for name in self.response]
        meshes = [jnp.asarray(mesh.reshape(-1)) for mesh in np.meshgrid(*grids, indexing="ij")]

        def at(values: Any, key: Any) -> Any:
            def logit(point: Any, responses: Any) -> Any:
                return self._function({**point, **dict(zip(self.response, responses, strict=True))}, values)

            each = jax.vmap(jax.vmap(logit, (None, 0)), (0, None), axis_size=count)
            logits = each(parsed, tuple(meshes))
            return jax.random.categorical(key, jnp.where(jnp.isnan(logits), -jnp.inf, logits), axis=1)

        with float64(), on_processor():
            values = {name: jnp.asarray(draws[name]) for name in self._declared}
            keys = jax.random.split(jax.random.key(int(rng.integers(2**31))), len(draws[next(iter(self._declared))]))
            places = np.asarray(jax.jit(lambda given: jax.lax.map(lambda one: at(*one), given))((values, keys)))
        found = np.stack([np.asarray(mesh)[places] for mesh in meshes], axis=-1)
        return found[..., 0] if len(meshes) == 1 else found

    def try_out(self, schema: Schema) -> None:
        """Call the function on made-up rows of the schema, and refuse one that fails there."""
        import jax
        import jax.numpy as jnp
        import numpy as np

        from tacit.runtime.backend import float64, on_processor

        made, at, density = self.made_up_rows(schema).rows, np.zeros(len(self._declared)), self.row_density(schema)
        with float64(), on_processor():
            every = max(1, next(iter(made.values())).size // 64)
            rows = {name: jnp.asarray(values.reshape(-1)[::every]) for name, values in made.items()}
            try:
                shape = jnp.shape(density({name: cells[0] for name, cells in rows.items()}, at))
                values, scores = (
                    (None, None) if shape else jax.vmap(jax.value_and_grad(density, argnums=1), (0, None))(rows, at)
                )
            except Exception as error:  # of the person's own function, on made-up rows: nothing in it is private
                raise InputError(
                    f"Expected log_density of {self.name!r} to work on a made-up row; it raised "
                    f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
                ) from None
        if scores is None:
            raise expected("log_density", self.name, f"to return one number for a row, not an array of shape {shape}")
        finite = np.isfinite(np.asarray(scores)).all(axis=1) & np.isfinite(np.asarray(values))
        if not finite.any():
            raise expected("log_density", self.name, "and its gradient to be finite at the prior means for some row")

    def _check(self, schema: Schema) -> None:
        for name in self.columns:
            schema.declared(name)
        if prod(len(self._responses(name, schema)[0]) for name in self.response) > _MOST_RESPONSES * 20:
            raise expected("response", list(self.response), f"to have at most {_MOST_RESPONSES * 20} values together")

    def dims(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        """Single numbers."""
        return dict.fromkeys(self._declared, ())

    def coords(self, schema: Schema) -> dict[str, list[str]]:
        """No axes."""
        return {}

    @property
    def supports(self) -> Mapping[str, str]:
        """Where the draws lie."""
        words = {"positive": POSITIVE, "share": SHARE}
        return {name: words[one.support] for name, one in self._declared.items() if one.support in words}

    def to_plain(self) -> dict[str, Any]:
        """Its name, the digest of its source and what is declared: no code."""
        return {
            "family": self.family,
            "name": self.name,
            "digest": self.digest,
            "columns": list(self.columns),
            "response": list(self.response),
            "whole": self.whole,
            "clip": self.clip,
            "parameters": {
                name: {"mean": one.mean, "sd": one.sd, "support": one.support} for name, one in self._declared.items()
            },
        }

    @classmethod
    def from_plain(cls, table: Mapping[str, Any]) -> Self:
        """Read what `to_plain` wrote; the function is looked for when it is needed."""
        known = ("name", "digest", "columns", "response", "whole", "clip", "parameters")
        if set(table) != set(known):
            wrong = sorted(set(table) ^ set(known), key=str)[0]
            raise expected(
                "model key", wrong, f"of family 'likelihood' to be among {', '.join(known)}, all of them said"
            )
        if not isinstance(table["digest"], str) or not re.fullmatch("[0-9a-f]{64}", table["digest"]):
            raise expected("digest", table["digest"], "to be 64 hexadecimal digits")
        parameters = table["parameters"]
        if not isinstance(parameters, Mapping) or not all(
            isinstance(one, Mapping) and set(one) == {"mean", "sd", "support"} for one in parameters.values()
        ):
            raise InputError("Expected parameters of [model] to say the mean, the sd and the support of each.")
        declared = {name: Parameter(**one) for name, one in parameters.items()}
        said: dict[str, Any] = {**table, "parameters": declared}
        return cls(None, **said)
