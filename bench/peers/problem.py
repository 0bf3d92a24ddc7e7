# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is compared: a frame of 8 bits and templates cut out of it, the same bytes for everyone."""
import dataclasses
import functools

import numpy as np

import images

LEAST_DEVIATION = 16  # gray levels: a template shows something
TRIES = 100


@dataclasses.dataclass(frozen=True)
class Problem:
    width: int
    height: int
    side: int
    count: int
    content: str = 'photographs'  # one of images.CONTENTS

    def __str__(self):
        return f'{self.content}, {self.width}x{self.height}, {self.count} of {self.side}x{self.side}'

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
        return images.frame(self.content, self.width, self.height)

    @functools.cached_property
    def places(self):
        """x, y of each template in the frame, by lot among those that show something."""
        random = np.random.default_rng(images.SEED)
        return [self._place(random) for _ in range(self.count)]

    def _place(self, random):
        height, width = self.valid
        for _ in range(TRIES):
            place = int(random.integers(0, width)), int(random.integers(0, height))
            if self.window(*place).std() >= LEAST_DEVIATION:
                break
        return place

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
