# SPDX-License-Identifier: LGPL-2.1-or-later
"""Frames in which parts of a photograph lie at known poses, on a clutter of other photographs, or of drawings.

Template and frame are made alike: a pixel is the mean of the scene over its area, so no way to turn or to shift an
image is the true one.
"""
import dataclasses

import numpy as np

from .images import at, samples, seen_from, to_bytes

ACROSS = 6  # samples along a side of a pixel
PART = 107  # pixels of the photograph along a side of a part, whatever its size in the frame
TILE = 270  # of the clutter, pixels of the frame
VAGUEST = 0.05  # pixels: the error, in noise of NOISE gray levels, below which a part must be able to be placed
NOISE = 4.0
INSET = 2  # pixels along the rim of a template that say nothing: there the clutter shows through
LEAST_OUTSIDE = 0.05  # of a part that may stick out of the frame
ALIKE = 0.85  # correlation of a template that is turned with itself


@dataclasses.dataclass(frozen=True)
class Kind:
    """What is looked for."""
    size: int
    shape: str = 'square'  # or 'disc', or 'bar', which is three times as long as high
    scales: tuple = (1, 1)
    lines: str = ''  # what is drawn in the place of photographs, of drawings.KINDS
    overhang: float = 0  # the greatest share of a part that lies outside of the frame
    hidden: float = 0  # the share of a part that is hidden, from one of its sides, by the clutter round it

    @property
    def name(self):
        lines = f'{self.lines}, ' if self.lines else ''
        scales = '' if self.scales == (1, 1) else f', {self.scales[0]:g} to {self.scales[1]:g} times'
        size = f'{self.size}x{self.size // 3}' if self.shape == 'bar' else f'{self.size}'
        outside = f', up to {100 * self.overhang:g} % outside' if self.overhang else ''
        hidden = f', {100 * self.hidden:g} % hidden' if self.hidden else ''
        return f'{lines}{self.shape} of {size}{scales}{outside}{hidden}'


@dataclasses.dataclass(frozen=True)
class Scene:
    frame: np.ndarray
    template: np.ndarray
    mask: np.ndarray | None
    poses: list  # (x, y, angle, scale) of the parts' centres
    bound: np.ndarray  # see Part.bound
    seen: list  # of each part where in its template it is seen


class Part:
    """A square of a photograph, a disc or a bar, that is `size` pixels wide at scale 1."""

    def __init__(self, photograph, center, size, shape='square'):
        self.photograph, self.center, self.size, self.shape = photograph, center, size, shape
        self.height = size // 3 if shape == 'bar' else size
        self.pitch = PART / size  # pixels of the photograph a pixel of the template

    def places(self):
        """(u, v) of the template's pixels."""
        return np.meshgrid(*(np.arange(length) - (length - 1) / 2 for length in (self.size, self.height)))

    def covers(self, u, v, inset=0):
        across, down = self.size / 2 - inset, self.height / 2 - inset
        return u * u + v * v <= across * down if self.shape == 'disc' else (abs(u) <= across) & (abs(v) <= down)

    def shows(self, u, v, hidden, side):
        """Where it is seen with a share of it hidden from one of its four sides."""
        towards, length = ((u, self.size), (v, self.height), (-u, self.size), (-v, self.height))[side]
        return self.covers(u, v) & (towards >= (hidden - 0.5) * length)

    def drawn_on(self, ground, pose, across=ACROSS, hidden=0, side=0):
        """The image `ground` with the part on it."""
        height, width = ground.shape
        drawn = np.zeros_like(ground)
        for x, y in samples(width, height, across):
            u, v = seen_from((0, 0), pose, x, y)
            pixels = at(self.photograph, self.pitch * u + self.center[0], self.pitch * v + self.center[1])
            drawn += np.where(self.shows(u, v, hidden, side), pixels, ground)
        return drawn / across**2

    def template(self):
        """Of a disc all of the square round it."""
        whole = Part(self.photograph, self.center, self.size, 'square' if self.shape == 'disc' else self.shape)
        middle = (self.size - 1) / 2, (self.height - 1) / 2
        return whole.drawn_on(np.zeros((self.height, self.size), np.float32), (*middle, 0, 1))

    def mask(self):
        if self.shape != 'disc':
            return None
        u = (2 * np.arange(self.size) + 1) / self.size - 1
        return np.hypot(u, u[:, None]) <= 1

    def bound(self, noise, grows):
        """The bound of Cramer and Rao: no unbiased way has smaller errors in their root mean square. (pixels, degrees,
        share of the scale), the last one 0 unless the scale is unknown, too."""
        pixels = self.template()
        down, right = np.gradient(pixels)
        u, v = self.places()
        slopes = [right, down, u * down - v * right, pixels, np.ones_like(pixels), u * right + v * down]
        counts = self.covers(u, v, INSET)
        slopes = np.array([each[counts] for each in slopes[:6 if grows else 5]], float)
        information = slopes @ slopes.T
        if np.linalg.matrix_rank(information) < len(slopes):
            return np.full(3, np.inf)
        least = noise * np.sqrt(np.diag(np.linalg.inv(information)))
        return np.array([np.hypot(*least[:2]), np.rad2deg(least[2]), least[5] if grows else 0])

    def shows_its_angle(self):
        """Whether it does not look much the same when turned by 12 degrees or more."""
        coarse = Part(self.photograph, self.center, 24)
        middle = (coarse.size - 1) / 2
        inner = np.hypot(*np.ogrid[-middle:middle + 1, -middle:middle + 1]) <= middle - 1

        def turned(angle):
            ground = np.zeros((coarse.size, coarse.size), np.float32)
            pixels = coarse.drawn_on(ground, (middle, middle, angle, 1), 2)[inner]
            pixels = pixels - pixels.mean()
            return pixels / max(np.linalg.norm(pixels), 1e-9)

        upright = turned(0)
        return all(upright @ turned(angle) < ALIKE for angle in range(12, 349, 12))


def some_part(random, photograph, kind):
    margin = PART * 0.75
    height, width = photograph.shape
    for _ in range(200):
        center = random.uniform(margin, width - margin), random.uniform(margin, height - margin)
        part = Part(photograph, center, kind.size, kind.shape)
        if part.bound(NOISE, True)[0] < VAGUEST and part.shows_its_angle():
            return part
    return None


def clutter(random, photographs, width, height):
    ground = np.empty((height, width), np.float32)
    for y in range(0, height, TILE):
        for x in range(0, width, TILE):
            photograph = photographs[random.integers(len(photographs))]
            center = [random.uniform(0, length) for length in photograph.shape[::-1]]
            pose = (TILE / 2, TILE / 2, random.uniform(0, 360), random.uniform(0.6, 1.6))
            tile = ground[y:y + TILE, x:x + TILE]
            tile[:] = np.mean([at(photograph, *seen_from(center, pose, *places))
                               for places in samples(tile.shape[1], tile.shape[0], 2)], axis=0)
    return ground


def share_outside(part, pose, width, height):
    """The share of a part at a pose that lies outside of a frame of that size."""
    side = np.linspace(-part.size / 2, part.size / 2, 65)
    u, v = np.meshgrid(side, side)
    covered = part.covers(u, v)
    x, y, angle, scale = pose
    cosine, sine = scale * np.cos(np.deg2rad(angle)), scale * np.sin(np.deg2rad(angle))
    across, down = x + cosine * u[covered] + sine * v[covered], y - sine * u[covered] + cosine * v[covered]
    return np.mean((across < -0.5) | (across > width - 0.5) | (down < -0.5) | (down > height - 0.5))


def some_pose(random, kind, part, others, width, height):
    """Wholly in the frame, or with an overhang partly outside; away from the others."""
    largest = kind.size * max(kind.scales)
    for _ in range(100000):
        scale = random.uniform(*kind.scales)
        reach = 0 if kind.overhang else 0.75 * kind.size * scale + 6
        x, y = random.uniform(reach, width - 1 - reach), random.uniform(reach, height - 1 - reach)
        if any(np.hypot(x - other[0], y - other[1]) <= 1.6 * largest for other in others):
            continue
        pose = x, y, random.uniform(0, 360), scale
        if not kind.overhang or LEAST_OUTSIDE <= share_outside(part, pose, width, height) <= kind.overhang:
            return pose
    raise ValueError(f'{len(others) + 1} parts do not fit')


def draw(frame, part, pose, hidden=0, side=0):
    """On the part of the frame that it touches."""
    x, y, angle, scale = pose
    reach = int(0.75 * part.size * scale) + 5
    left, top = max(int(x) - reach, 0), max(int(y) - reach, 0)
    window = frame[top:int(y) + reach, left:int(x) + reach]
    window[:] = part.drawn_on(window, (x - left, y - top, angle, scale), hidden=hidden, side=side)


def scene(seed, photographs, kind, *, parts=3, noise=NOISE, width=1920, height=1080):
    """The same for the same arguments."""
    random = np.random.default_rng(seed)
    part = None
    while part is None:
        chosen = random.integers(len(photographs))
        part = some_part(random, photographs[chosen], kind)
    others = [each for i, each in enumerate(photographs) if i != chosen]
    frame = clutter(random, others, width, height)
    poses, seen = [], []
    for _ in range(parts):
        poses.append(some_pose(random, kind, part, poses, width, height))
        side = random.integers(4) if kind.hidden else 0
        draw(frame, part, poses[-1], kind.hidden, side)
        seen.append(part.shows(*part.places(), kind.hidden, side))
    frame += random.normal(0, noise, frame.shape)
    return Scene(to_bytes(frame), to_bytes(part.template()), part.mask(), poses,
                 part.bound(noise, kind.scales != (1, 1)), seen)
