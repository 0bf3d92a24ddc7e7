# SPDX-License-Identifier: LGPL-2.1-or-later
"""What commands print, against the blocks ```text in which a page shows it.

Such a block has lines as they were printed, one after the other; a line `...` stands for any number of others. Words
must be equal. Numbers may be off as far as other processors, decoders and numbers of threads make them: whole ones not
at all, others by two of their last digit, or by 0.05 if that is more. Rates (`fps=477.0`) are those of a machine and
may be any.
"""
import re

NUMBER = re.compile(r'-?\d+(?:\.\d+)?')
RATE = re.compile(r'\bfps=[\d.]+')
LEAST_TOLERANCE = 0.05
GAP = '...'


def alike_numbers(shown, found):
    if '.' not in shown:
        return shown == found
    unit = 10.0 ** -len(shown.partition('.')[2])
    return abs(float(shown) - float(found)) <= max(2.001 * unit, LEAST_TOLERANCE)


def alike(shown, found):
    """Whether a line of a page and a printed one say the same."""
    shown, found = (' '.join(RATE.sub('fps=', line).split()) for line in (shown, found))
    return NUMBER.split(shown) == NUMBER.split(found) and all(
        map(alike_numbers, NUMBER.findall(shown), NUMBER.findall(found)))


def has(found, shown):
    """Whether the lines `found` have, in a row, all of `shown`."""
    at = 0
    for run in '\n'.join(shown).split(f'\n{GAP}\n'):
        run = run.split('\n')
        places = (start for start in range(at, len(found) - len(run) + 1)
                  if all(map(alike, run, found[start:start + len(run)])))
        start = next(places, None)
        if start is None:
            return False
        at = start + len(run)
    return True
