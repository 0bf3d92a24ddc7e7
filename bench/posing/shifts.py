# SPDX-License-Identifier: LGPL-2.1-or-later
"""Frames moved by exact quarters of a pixel: means of 4 x 4 pixels of a larger photograph, which begin at each of its
pixels in turn."""
import numpy as np

from .images import to_bytes

QUARTERS = 4
FLATTEST = 8  # standard deviation of a template
MARGIN = 6  # pixels from templates to the frame's border


def moved(photograph, right, down):
    """The photograph at a quarter of its size. What the one moved by 0 has at (x, y), this has at (x - right / 4,
    y - down / 4)."""
    height, width = ((length - QUARTERS) // QUARTERS * QUARTERS for length in photograph.shape)
    part = photograph[down:down + height, right:right + width]
    return part.reshape(height // QUARTERS, QUARTERS, width // QUARTERS, QUARTERS).mean((1, 3))


def pairs(photograph, side, noise, random):
    """Yields (template, frame, place): every shift but none, with templates all over the first frame."""
    def taken(right, down):
        image = moved(photograph, right, down)
        return to_bytes(image + random.normal(0, noise, image.shape))

    still = taken(0, 0)
    height, width = still.shape
    places = [(x, y) for y in range(MARGIN, height - side - MARGIN + 1, side)
              for x in range(MARGIN, width - side - MARGIN + 1, side)]
    for right, down in np.ndindex(QUARTERS, QUARTERS):
        if right == down == 0:
            continue
        frame = taken(right, down)
        for x, y in places:
            template = still[y:y + side, x:x + side]
            if template.std() >= FLATTEST:
                yield template, frame, (x - right / QUARTERS, y - down / QUARTERS)
