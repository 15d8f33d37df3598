"""All planted faults. The auditor must catch every one."""

from __future__ import annotations

from faults import chains, crossings, devices, noises, posteriors, printed, steps

GROUPS = (noises, printed, crossings, devices, posteriors, steps, chains)
FAULTS = {fault.name: fault for group in GROUPS for fault in group.FAULTS}
