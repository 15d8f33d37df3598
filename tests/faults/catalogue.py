"""All planted faults. The auditor must catch every one."""

from __future__ import annotations

from faults import crossings, devices, noises, posteriors, printed

FAULTS = {fault.name: fault for group in (noises, printed, crossings, devices, posteriors) for fault in group.FAULTS}
