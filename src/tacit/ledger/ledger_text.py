"""A ledger in plain words."""

from __future__ import annotations

from tacit.ledger.balance import Balance, SpentByDefinition
from tacit.ledger.ledger import Ledger
from tacit.ledger.privacy_unit import unit_words
from tacit.privacy.guarantees import GDP
from tacit.privacy.price_sums import written_down, written_up


def words(ledger: Ledger, delta: float | None = None) -> list[str]:
    """What somebody who must answer for the data wants to read: for each data set what is spent and what is left.

    Of approximate DP at ``delta``, or at the total's delta; with neither, nothing is said of it.
    """
    entries, balances = ledger.standing(delta)
    lines = [f"Ledger {ledger.id}: {_count(len(balances), 'data set')}, {_count(len(entries), 'entry', 'entries')}."]
    for balance in balances:
        lines.append("")
        lines.extend(_dataset(balance))
    lines.append("")
    lines.append(f"The hash of the last entry is {entries[-1].hash}.")
    return lines


def _dataset(balance: Balance) -> list[str]:
    whose = unit_words(balance.unit, balance.total.neighbours)
    lines = [f"{balance.dataset}: the total is {balance.total.symbols}, for {whose}."]
    if balance.spends:
        paid = f"  Paid for: {_count(balance.spends, 'release')}"
        if balance.unfinished:
            paid += f", of which {balance.unfinished} not recorded as made (what may have been spent counts as spent)"
        lines.append(f"{paid}.")
        if sums := _sums(balance):
            lines.append(f"  Spent, as if all of it had been planned from the start: {sums}.")
        lines.extend(f"  {line}" for line in _bases(balance))
    else:
        lines.append("  Nothing has been spent.")
    lines.append(f"  {_left(balance)}")
    lines.extend(f"  {line}" for line in _largest(balance))
    return lines


def _sums(amounts: Balance | SpentByDefinition) -> str:
    sums = [
        f"{symbol} = {written_up(value)}"
        for symbol, value in (("epsilon", amounts.epsilon), ("rho", amounts.rho), ("mu", amounts.mu))
        if value is not None
    ]
    if amounts.approximate is not None:
        sums.append(f"epsilon = {written_up(amounts.approximate)} at delta = {amounts.delta:g}")
    return ", or ".join(sums)


def _bases(balance: Balance) -> list[str]:
    """What part of the spending is proved, and what rests on an assumption; nothing where all of it is proved."""
    if balance.proved.spends == balance.spends:
        return []
    parts = (
        ("Proved", balance.proved, ""),
        ("Assumed, not proved", balance.assumed, " (a Markov chain is taken to have converged)"),
        ("Not recorded which", balance.untold, " (booked before a plan had to say so; the release tells)"),
    )
    return [
        f"{name}: {_count(part.spends, 'release')}{why}{f', {sums}' if (sums := _sums(part)) else ''}."
        for name, part, why in parts
        if part.spends
    ]


def _left(balance: Balance) -> str:
    if balance.left is None:
        return "Nothing is left."
    if not balance.spends:
        return f"All of it is left; {balance.fits}."
    changed = [n for n in balance.left.parameters() if getattr(balance.left, n) != getattr(balance.total, n)]
    rest = ", ".join(f"{name} = {written_down(getattr(balance.left, name))}" for name in changed)
    return f"Left: {rest}; {balance.fits}." if rest else f"Left: {balance.fits}."


def _largest(balance: Balance) -> list[str]:
    """What fits next under each definition; nothing if that is nothing."""
    largest = balance.largest
    known = [("rho", largest.rho, ""), ("mu", largest.mu, "")]
    if largest.delta is not None:
        known.append(("epsilon", largest.approximate, f" at delta = {largest.delta:g}"))
    fits = [f"{symbol} = {written_down(value)}{at}" for symbol, value, at in known if value is not None]
    noise = "rounded Gaussian" if isinstance(balance.total, GDP) else "Gaussian"  # the only one that has a mu
    choices = [f"pure epsilon = {written_down(largest.epsilon)}"] if largest.epsilon is not None else []
    choices += [f"{noise} noise of {', or '.join(fits)}"] if fits else []
    if not choices:
        return []
    none = "" if fits else "; too little is left for Gaussian noise"
    return [f"The largest next release, one of: {', or '.join(choices)}{none}."]


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
