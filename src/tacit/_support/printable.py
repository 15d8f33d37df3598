"""Text that shows what it is: what a name may hold, and how anything else is spelled out before somebody sees it.

A plan, a release or a ledger may come from a stranger, and whoever approves it goes by what a terminal or a page shows.
So a name that could forge a line, reverse one or hide a part of itself is refused where it is declared (`flaw`), and
every output spells such characters out all the same (`spelled_out`).
"""

from __future__ import annotations

import re
import unicodedata

_MOST_MARKS = 4
"""Accents on one letter. Scripts need up to four; a tower of them paints over the lines above."""

# Letters, marks and signs that are shown as nothing, which str.isprintable() takes for printable: fillers of Hangul,
# joiners, selectors of variants, the blank of Braille, two of Khmer and one of music.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\U0001d159\U000e0100-\U000e01ef]"
)
_PLAIN = re.compile(r"[\w.-]+")
_STATISTIC = re.compile(r"[\w.*:^=\[\]-]+")


def flaw(text: str) -> str | None:
    """Why ``text`` cannot be a name: what a refusal says after "to hold no"; None where it can.

    Only letters, marks, digits, signs and the plain space are shown as themselves: no control character, no end of a
    line, nothing that changes the direction of writing, nothing of no width, no half of a surrogate pair.
    """
    if not text.isprintable() or _UNSEEN.search(text):
        return "character that is not shown as itself, such as an end of a line or a change of direction"
    run = 0
    for place, letter in enumerate(text):
        run = run + 1 if unicodedata.category(letter) in ("Mn", "Me") else 0
        if run > _MOST_MARKS or (run and place == 0):
            return f"accent without a letter, and no letter with more than {_MOST_MARKS} accents"
    return None


def spelled_out(text: str) -> str:
    """The text on one line, with every character that is not shown as itself written as Python writes it."""
    return "".join(
        letter if letter.isprintable() and not _UNSEEN.match(letter) else ascii(letter)[1:-1] for letter in text
    )


def in_prose(name: str) -> str:
    """A name as it stands in a sentence: in quotes unless it is one word, so that it cannot go on as the sentence."""
    return name if _PLAIN.fullmatch(name) else spelled_out(repr(name))


def statistic_in_prose(name: str) -> str:
    """The same for the name of a statistic, which has signs of its own between names of columns and levels."""
    return name if _STATISTIC.fullmatch(name) else spelled_out(repr(name))
