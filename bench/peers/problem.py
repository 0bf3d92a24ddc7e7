# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is compared: a textured frame of 8 bits and templates cut out of it, the same bytes for everyone."""
import dataclasses
import functools
import pathlib

import numpy as np

SEED = 1


def _stretched(values, cell, length):
    """Along the first axis, `cell` times as long by linear interpolation, the first `length` of it."""
    at = np.arange(length) / cell
    low = at.astype(int)
    part = (at - low)[:, None]
    return values[low] * (1 - part) + values[low + 1] * part


@functools.lru_cache(maxsize=4)
def textured(width, height):
    """Noise of several scales, as of a picture with objects, details and grain; mean 128."""
    random = np.random.default_rng(SEED)
    frame = np.zeros((height, width))
    for cell in (64, 16, 4, 1):
        grid = random.standard_normal((height // cell + 2, width // cell + 2))
        frame += _stretched(_stretched(grid, cell, height).T, cell, width).T
    return np.clip(128 + 40 * frame / frame.std(), 0, 255).round().astype(np.uint8)


@dataclasses.dataclass(frozen=True)
class Problem:
    width: int
    height: int
    side: int
    count: int

    def __str__(self):
        return f'{self.width}x{self.height}, {self.count} of {self.side}x{self.side}'

    @property
    def products(self):
        """A measure of how much it is, by the definition."""
        return (self.width - self.side + 1) * (self.height - self.side + 1) * self.side**2 * self.count

    @property
    def valid(self):
        """Height and width of the surface of shifts."""
        return self.height - self.side + 1, self.width - self.side + 1

    @property
    def frame(self):
        return textured(self.width, self.height)

    @functools.cached_property
    def places(self):
        """x, y of each template in the frame."""
        random = np.random.default_rng(SEED)
        height, width = self.valid
        return list(zip(random.integers(0, width, self.count).tolist(),
                        random.integers(0, height, self.count).tolist()))

    def window(self, x, y):
        return self.frame[y:y + self.side, x:x + self.side]

    @functools.cached_property
    def templates(self):
        """count x side x side bytes."""
        return np.stack([self.window(x, y) for x, y in self.places])

    @functools.cached_property
    def centred(self):
        """The templates minus their rounded means: with them products tell matches from bright places."""
        means = self.templates.mean(axis=(1, 2), keepdims=True).round()
        return self.templates.astype(np.int64) - means.astype(np.int64)


def write_pgm(path, pixels):
    height, width = pixels.shape
    pathlib.Path(path).write_bytes(b'P5\n%d %d\n255\n' % (width, height) + pixels.tobytes())
