"""Old paths of modules that the documentation once showed: they are found where they are now, with a warning."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_GONE = "tacit.losses"  # a package that is left only as the beginning of old paths
MOVED = {
    "tacit.keys": "tacit.signing.keys",
    f"{_GONE}.beta_divergence": "tacit.mechanisms.posterior_sample.beta_divergence",
    f"{_GONE}.bounded_density": "tacit.mechanisms.targets.bounded_density",
    f"{_GONE}.conjugate": "tacit.mechanisms.posterior_sample.conjugate",
    f"{_GONE}.log_likelihood": "tacit.mechanisms.posterior_sample.log_likelihood",
    f"{_GONE}.loss": "tacit.mechanisms.posterior_sample.loss",
    f"{_GONE}.registry": "tacit.mechanisms.posterior_sample.registry",
    "tacit.samplers.backend": "tacit.runtime.backend",
    "tacit.samplers.chain": "tacit.runtime.chain",
    "tacit.samplers.gamma_ratio": "tacit.numerics.gamma_ratio",
}


class _Moved(MetaPathFinder, Loader):
    """Finds what nobody else has found: it stands last among the finders."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """The module under its old name."""
        return ModuleSpec(fullname, self, is_package=fullname == _GONE) if fullname in (_GONE, *MOVED) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """The module itself, and no copy: its classes are the same whichever way they are imported."""
        if spec.name == _GONE:
            return None
        new = MOVED[spec.name]
        warnings.warn(f"{spec.name} is now {new}.", DeprecationWarning, stacklevel=2)
        module = import_module(new)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """It has run already; what importing wrote over is put back."""
        if module.__name__ != _GONE and module.__spec__ is not None:
            module.__spec__ = module.__spec__.loader_state


def install() -> None:
    """Let old paths be imported."""
    if not any(isinstance(finder, _Moved) for finder in sys.meta_path):
        sys.meta_path.append(_Moved())
