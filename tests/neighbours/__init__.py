"""An attack on the way from a table to its sums: pairs of tables that differ in one person, through every source.

`pairs` makes a plan and two tables, `media` stores both by ordinary writers, `check` reads them back through
`tacit.partial` and compares: the same outcome and output, the same n, and exact sums whose distance is within the
claimed sensitivity. `faults` plants the mistakes that such a test has to find.

    python -m tests.neighbours --pairs 100000 --seed 7

in the root of a clone is the long run; it prints a small reproduction of every violation. A new source is one entry of
`media.MEDIA`.
"""
