# SPDX-License-Identifier: LGPL-2.1-or-later
"""Drawings of fine lines, like those that cameras see on circuit boards, coils and printed pages.

They take the place of photographs: a part of 60 pixels has lines and gaps of 1 to 2 pixels, which are gone in an image
of a quarter of the size.
"""
import numpy as np

SIDE = 600  # pixels of a drawing
COUNT = 8  # drawings of a kind
LINES = 2, 4  # their widths: up to 1.8 pixels of a drawing are one of a part


def spans(random, length, least, most):
    """Cuts a length into pieces: yields (begin, end)."""
    begin = 0
    while begin < length:
        end = begin + random.integers(least, most + 1)
        yield begin, min(end, length)
        begin = end


def page(random):
    """Dark strokes in lines, as of letters, upright and slanted."""
    made = np.full((SIDE, SIDE), 225, np.float32)
    for top in range(4, SIDE - 14, 19):
        for left, right in spans(random, SIDE, 8, 13):
            if random.random() < 0.15:  # between words
                continue
            for _ in range(random.integers(2, 4)):
                wide = random.integers(*LINES)
                if random.random() < 0.5:
                    at = random.integers(left, max(right - wide, left + 1))
                    slant = random.integers(-3, 4)
                    for down in range(12):
                        begin = max(at + slant * down // 12, 0)
                        made[top + down, begin:begin + wide] = 40
                else:
                    at = top + random.integers(0, 12)
                    made[at:at + wide, left:right - 2] = 40
    return made


def coil(random):
    """Bright arcs round several centres, open at places."""
    made = np.full((SIDE, SIDE), 60, np.float32)
    y, x = np.mgrid[:SIDE, :SIDE]
    for _ in range(14):
        center = random.uniform(0, SIDE, 2)
        radius = np.hypot(y - center[0], x - center[1])
        sector = (np.arctan2(y - center[0], x - center[1]) / (2 * np.pi) * 8).astype(int)
        inside = radius < random.uniform(70, 120)
        made[inside] = 60
        for begin in range(4, 120, 7):
            wide, open_at = random.uniform(*LINES), random.integers(-4, 4)
            made[inside & (radius >= begin) & (radius < begin + wide) & (sector != open_at)] = 200
    return made


def board(random):
    """Bright traces across and down, and round pads at some of their ends."""
    made = np.full((SIDE, SIDE), 50, np.float32)
    disc = np.hypot(*np.ogrid[-4:5, -4:5]) < 4.5
    for across in (False, True):
        for beside in range(0, SIDE - 4, 9):
            wide = random.integers(*LINES, endpoint=True)
            for begin, end in spans(random, SIDE, 15, 60):
                if random.random() < 0.55:
                    continue
                place = slice(beside, beside + wide), slice(begin, end)
                made[place[::-1] if across else place] = 210
                if random.random() < 0.3:
                    y, x = (min(max(at, 4), SIDE - 5) for at in ((end, beside) if across else (beside, end)))
                    made[y - 4:y + 5, x - 4:x + 5][disc] = 210
    return made


KINDS = {'print': page, 'coils': coil, 'boards': board}


def drawings(kind):
    """Always the same."""
    return [KINDS[kind](np.random.default_rng(seed)) for seed in range(COUNT)]
