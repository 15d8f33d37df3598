"""One column of levels under any kind of evidence: how devices randomise a level, and the shares from all pieces."""

from __future__ import annotations

from typing import Any

from tacit.errors import expected
from tacit.models.model import Problem
from tacit.privacy.guarantees import Guarantee
from tacit.protocols.local_randomizer import LevelCode, LocalRandomizer
from tacit.protocols.randomized_response import RandomizedResponse
from tacit.protocols.unary_encoding import UnaryEncoding
from tacit.runtime.chain import Chain, SamplerSettings
from tacit.schema import Schema
from tacit.statistics.cell_table import CellTable
from tacit.statistics.counts import Counts

MOST_TABLED = 12  # levels whose bit patterns are all tabled; past it the likelihood is expanded around its peak

LEVEL_PROTOCOLS = {protocol.kind: protocol for protocol in (RandomizedResponse, UnaryEncoding)}


def level_randomizer(column: str, schema: Schema, budget: Guarantee, protocol: str) -> LocalRandomizer:
    """A device that randomises the code of one column's level."""
    levels = len(schema.category(column).levels)
    return LocalRandomizer(schema, LevelCode(column), LEVEL_PROTOCOLS[protocol].calibrate(levels, budget))


def level_summary(randomizer: LocalRandomizer, reports: Any) -> Any:
    """Counts of the codes, counts of all bit patterns, or the expansion of the log likelihood in the shares."""
    from tacit.likelihoods import report_summaries

    protocol = randomizer.protocol
    if isinstance(protocol, RandomizedResponse):
        return report_summaries.response_counts(reports[:, 0], protocol.levels)
    assert isinstance(protocol, UnaryEncoding)
    if protocol.levels <= MOST_TABLED:
        return report_summaries.pattern_counts(reports)
    rows, counts = report_summaries.distinct_patterns(reports)
    return report_summaries.unary_expansion(rows, counts, float(protocol.epsilon)).numbers


def shares_chain(problem: Problem, concentrations: Any, settings: SamplerSettings) -> Chain:
    """NUTS on the shares, all pieces of evidence together; central counts by the central limit theorem. Draws:
    ``log_theta``.
    """
    from tacit.samplers.pooled_posterior import simplex_chain

    return simplex_chain(concentrations, share_pieces(problem), settings)


def share_pieces(problem: Problem) -> list[Any]:
    """What every site and every survey says of the shares of levels, or of cells."""
    from tacit.likelihoods.counted_cells import CountedCells
    from tacit.likelihoods.evidence import ExpandedReports, NoisyCounts, PatternReports, ResponseReports

    pieces: list[Any] = []
    for site in problem.sites:
        statistic, (noise,) = problem.statistic, site.noises
        assert isinstance(statistic, Counts | CellTable)
        laplace = noise.limit == "laplace"
        scales = tuple(scale / statistic.unit for scale in (noise.scales if laplace else noise.sd))
        pieces.append(
            CountedCells(scales, laplace) if site.n is None else NoisyCounts(site.n, statistic.counted, scales, laplace)
        )
    for survey in problem.surveys:
        protocol = survey.local_randomizer.protocol
        if isinstance(protocol, RandomizedResponse):
            pieces.append(ResponseReports(protocol.levels, float(protocol.epsilon)))
        elif isinstance(protocol, UnaryEncoding) and protocol.levels <= MOST_TABLED:
            pieces.append(PatternReports(protocol.levels, float(protocol.epsilon)))
        elif isinstance(protocol, UnaryEncoding):
            pieces.append(ExpandedReports(protocol.levels))
        else:
            raise expected("protocol", protocol.kind, "to be one for levels")
    return pieces
