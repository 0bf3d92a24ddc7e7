#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Displacement fields of images that are drawn with known ones: fields.py FOLDER

    arrows.jpg   particles in a flow of vortices (PIV), with the displacements found
    strain.jpg   speckles on a sheet that is stretched round its middle (DIC), with the strain found

Prints the root of the mean square of the displacements' error in pixels. Needs Matplotlib.
"""
import pathlib
import sys
from typing import Callable

import numpy as np

import xcorr
from xcorr.field.plot import plot

SIZE = 320
RANDOM = np.random.default_rng(5)


def vortices(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where particles go, up to 3 pixels."""
    across, down = 2 * np.pi * x / 200, 2 * np.pi * y / 200
    return 3 * np.sin(across) * np.cos(down), -3 * np.cos(across) * np.sin(down)


def stretched(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A bump: points move away from the middle, at a distance less again."""
    x, y = x - SIZE / 2, y - SIZE / 2
    shape = 0.05 * np.exp(-(x * x + y * y) / (2 * 60 ** 2))
    return x * shape, y * shape


def draw_particles(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    image = np.zeros((SIZE, SIZE))
    for px, py in zip(x, y):
        left, top = max(int(px) - 4, 0), max(int(py) - 4, 0)
        rows, columns = np.mgrid[top:min(top + 9, SIZE), left:min(left + 9, SIZE)]
        image[rows, columns] += 180 * np.exp(-((columns - px) ** 2 + (rows - py) ** 2) / (2 * 1.1 ** 2))
    return as_bytes(image + 20)


def as_bytes(image: np.ndarray) -> np.ndarray:
    return np.clip(image + RANDOM.normal(0, 2, image.shape) + 0.5, 0, 255).astype(np.uint8)


def particles() -> tuple[np.ndarray, np.ndarray]:
    x, y = RANDOM.uniform(0, SIZE, (2, SIZE * SIZE // 50))
    dx, dy = vortices(x, y)
    inside = (x + dx > 1) & (x + dx < SIZE - 2) & (y + dy > 1) & (y + dy < SIZE - 2)
    return draw_particles(x, y), draw_particles((x + dx)[inside], (y + dy)[inside])


def speckles() -> tuple[np.ndarray, np.ndarray]:
    """Waves of random directions: a texture that is known between the pixels too."""
    angles, lengths, phases = RANDOM.uniform(0, 2 * np.pi, 90), RANDOM.uniform(5, 16, 90), RANDOM.uniform(0, 7, 90)
    y, x = np.mgrid[:SIZE, :SIZE].astype(float)

    def texture(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        waves = sum((np.cos(2 * np.pi * (x * np.cos(a) + y * np.sin(a)) / length + phase)
                    for a, length, phase in zip(angles, lengths, phases)), np.zeros(()))
        return as_bytes(128 + 10 * waves)
    before_x, before_y = x, y
    for _ in range(20):  # the place that has moved here
        dx, dy = stretched(before_x, before_y)
        before_x, before_y = x - dx, y - dy
    return texture(x, y), texture(before_x, before_y)


def error_of(vectors: np.ndarray, truth: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]) -> float:
    good = vectors[vectors["status"] == 0]
    dx, dy = truth(good["x"].astype(float), good["y"].astype(float))
    return float(np.sqrt(np.mean((good["dx"] - dx) ** 2 + (good["dy"] - dy) ** 2) / 2))


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    for name, pair, truth, shown in (("arrows", particles(), vortices, "none"),
                                     ("strain", speckles(), stretched, "strain-xx")):
        vectors = xcorr.FieldMatcher(pair[0], device="cpu", windows=(32,), spacing=12, search_range=8,
                                     subpixel="least-squares", weight_sigma=8).match(pair[1])
        print(f"{name}: {error_of(vectors, truth):.3f} px, {np.mean(vectors['status'] == 0):.1%} valid")
        plot(folder / f"{name}.jpg", pair[0], vectors, shown)


if __name__ == "__main__":
    main()
