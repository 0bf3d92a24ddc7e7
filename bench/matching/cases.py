# SPDX-License-Identifier: LGPL-2.1-or-later
"""Made of photographs: frames in which a part is, is several times, or is not, under what happens to parts."""
import dataclasses

import numpy as np

from posing.images import to_bytes

MOST_PEAKS = (1, 1, 2, 4, 12)
MOST_COPIES = 12


@dataclasses.dataclass
class Case:
    frame: np.ndarray
    template: np.ndarray
    places: list[tuple[int, int]]  # the template's upper left corner wherever the part is
    max_peaks: int

    def right(self, rng, peaks):
        """Of each peak whether it is right. Where the part is more often than is asked for, those that are meant are
        some of them, whichever."""
        meant = rng.permutation(len(self.places))[:self.max_peaks]
        return np.array([any(max(abs(peak['x'] - self.places[i][0]), abs(peak['y'] - self.places[i][1])) <= 2
                             for i in meant) for peak in peaks], bool)


def crop(rng, image, width, height):
    """And where it was."""
    x, y = int(rng.integers(image.shape[1] - width + 1)), int(rng.integers(image.shape[0] - height + 1))
    return image[y:y + height, x:x + width].copy(), (x, y)


def free_places(rng, frame, size, count, taken):
    """So many at most that overlap neither each other nor those taken."""
    width, height = size
    found = list(taken)
    for _ in range(8 * count):
        x, y = int(rng.integers(frame.shape[1] - width + 1)), int(rng.integers(frame.shape[0] - height + 1))
        if len(found) < len(taken) + count and all(abs(x - a) >= width or abs(y - b) >= height for a, b in found):
            found.append((x, y))
    return found[len(taken):]


def put(frame, part, place, share=1.0):
    """Over what is there, of which the rest shines through."""
    x, y = place
    under = frame[y:y + part.shape[0], x:x + part.shape[1]]
    under[...] = share * part + (1 - share) * under


def hide(rng, frame, size, place, other):
    """Part of what is there, behind a part of another photograph."""
    width, height = size
    across, down = (max(1, int(rng.uniform(0.2, 0.9) * length)) for length in size)
    cover, _ = crop(rng, other, across, down)
    right, lower = (int(rng.integers(length - covered + 1)) for length, covered in zip(size, (across, down)))
    put(frame, cover, (place[0] + right, place[1] + lower))


def blurred(image, times):
    for _ in range(times):
        for axis in (0, 1):
            image = (np.roll(image, 1, axis) + 2 * image + np.roll(image, -1, axis)) / 4
    return image


def lit(rng, image):
    """Brightness, contrast and gamma, and light that differs from left to right."""
    image = 255 * np.clip(image / 255, 0, 1) ** rng.uniform(0.7, 1.4)
    slope = np.linspace(-1, 1, image.shape[1]) * rng.uniform(-30, 30)
    return rng.uniform(0.4, 1.2) * image + slope + rng.uniform(-20, 40)


def make(rng, one, others):
    """One of them, in a photograph; what is put into it or looked for besides is of others."""
    other = others[rng.integers(len(others))]
    frame, corner = crop(rng, one, *(int(rng.integers(min(96, length), min(480, length) + 1))
                                     for length in one.shape[::-1]))
    size = tuple(int(round(np.exp(rng.uniform(np.log(10), np.log(min(80, length / 2))))))
                 for length in frame.shape[::-1])
    kind = rng.choice(['there', 'copies', 'elsewhere', 'other'], p=[0.4, 0.15, 0.25, 0.2])
    places = []
    if kind in ('there', 'copies'):
        template, place = crop(rng, frame, *size)
        places = [place]
        if kind == 'copies':
            places += free_places(rng, frame, size, int(rng.integers(1, MOST_COPIES)), places)
    else:
        # Mirrored, so that what is cut where the frame is is not there either.
        template, _ = crop(rng, (one if kind == 'elsewhere' else other)[:, ::-1], *size)
    if template.std() < 4:
        return make(rng, one, others)
    for place in places[1:]:
        put(frame, template, place)
    if rng.random() < 0.25:
        for place in free_places(rng, frame, size, 1, places):  # of something like it
            put(frame, template, place, rng.uniform(0.3, 0.75))
    for place in places:
        if rng.random() < 0.4:
            hide(rng, frame, size, place, other)
    if rng.random() < 0.6:
        frame = lit(rng, frame)
    if rng.random() < 0.5:
        frame = blurred(frame, int(rng.integers(1, 4)))
    frame = frame + rng.choice([1, 4, 12, 30]) * rng.standard_normal(frame.shape)
    return Case(to_bytes(frame), to_bytes(template), places, int(rng.choice(MOST_PEAKS)))
