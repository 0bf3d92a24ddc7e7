#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Strain in a crystal from its diffraction patterns in an electron microscope: strain.py IMAGE [PATTERNS]

Patterns of backscattered electrons are drawn as they would lie on a screen: bands between the pairs of cones by which
lattice planes reflect, softened and with noise. One is the reference, each of the others (12 if not said) is of the
same crystal after a small deformation that is known. The displacements of sub-regions of 96x96 pixels, n of the
reference against the same n of each of m patterns, give the deformation by least squares: strains and rotations, but no
change of volume, which leaves all directions as they are.

Prints the errors beside the least that the noise allows; the image shows the displacements of one pattern and what was
found against what is true. Needs Matplotlib.
"""
import itertools
import sys
from typing import Iterator

import numpy as np

import xcorr

SIZE, DISTANCE = 960, 640.0  # of the screen and from it to the crystal, pixels
CENTRE = np.array([0.5 * SIZE, 0.38 * SIZE])  # of the pattern: the point of the screen nearest to the crystal
LATTICE, WAVELENGTH = 0.291, 0.00859  # nanometres: FeAl, electrons of 20 kV
PLANES = {(1, 1, 0): 1.0, (2, 0, 0): 0.6, (2, 1, 1): 0.5, (2, 2, 0): 0.5, (3, 1, 0): 0.4, (2, 2, 2): 0.3,
          (3, 2, 1): 0.3, (4, 0, 0): 0.3}  # contrast
SOFTNESS = 0.004  # width of a band's edges, radians
CONTRAST, NOISE = 26, 2  # deviations, steps of gray
BLUR, SMOOTHING = 0.7, 1.5  # of the screen, and before patterns are compared: Gauss bells, pixels
WINDOW = 96


def lattice_planes() -> Iterator[tuple[np.ndarray, float, float]]:
    """(normal, sine of the Bragg angle, contrast) of each, in the crystal's axes."""
    for family, contrast in PLANES.items():
        normals = {signed for order in itertools.permutations(family)
                   for signed in itertools.product(*({each, -each} for each in order))
                   if next(each for each in signed if each) > 0}  # one of each pair that are opposite
        for normal in sorted(normals):
            length = float(np.linalg.norm(normal))
            yield np.array(normal) / length, WAVELENGTH * length / (2 * LATTICE), contrast


def orientation() -> np.ndarray:
    """A rotation that puts no plane along the screen's edges."""
    across, down = np.radians((34, 21))
    turn = np.array([[np.cos(across), -np.sin(across), 0], [np.sin(across), np.cos(across), 0], [0, 0, 1]])
    tilt = np.array([[1, 0, 0], [0, np.cos(down), -np.sin(down)], [0, np.sin(down), np.cos(down)]])
    return turn @ tilt


def draw(deformation: np.ndarray) -> np.ndarray:
    """The pattern of the deformed crystal, without noise: along a direction there is now what lay along another one
    before."""
    y, x = np.mgrid[:SIZE, :SIZE].reshape(2, -1)
    rays = np.linalg.solve(deformation, directions(x, y)).astype(np.float32)
    rays /= np.linalg.norm(rays, axis=0)
    pattern = np.zeros(rays.shape[1], np.float32)
    for normal, bragg, contrast in lattice_planes():
        sine = (orientation() @ normal).astype(np.float32) @ rays
        inside = np.clip((bragg - np.abs(sine)) / SOFTNESS + 0.5, 0, 1)
        pattern += contrast * inside * inside * (3 - 2 * inside)
    return blurred(110 + CONTRAST * ((pattern - pattern.mean()) / pattern.std()).reshape(SIZE, SIZE), BLUR)


def blurred(pattern: np.ndarray, sigma: float) -> np.ndarray:
    """By a Gauss bell."""
    reach = int(np.ceil(4 * sigma))
    shifts = np.arange(-reach, reach + 1)
    weights = np.exp(-shifts ** 2 / (2 * sigma ** 2))
    for axis in (0, 1):
        padded = np.pad(pattern, [(reach, reach) if axis == each else (0, 0) for each in (0, 1)], "edge")
        pattern = np.sum([weight * np.take(padded, range(reach + shift, reach + shift + SIZE), axis)
                          for shift, weight in zip(shifts, weights / weights.sum())], 0)
    return pattern


def seen(pattern: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """With noise, and smoothed against it as is usual: least squares take a reference's noise for its slopes."""
    smooth = blurred(np.clip(pattern + random.normal(0, NOISE, pattern.shape), 0, 255), SMOOTHING)
    return np.clip(1.2 * (smooth - 110) + 110.5, 0, 255).astype(np.uint8)


def directions(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """From the crystal to points of the screen: rows x, y, z."""
    return np.stack([x - CENTRE[0], y - CENTRE[1], np.full(x.shape, DISTANCE)])


def moved(deformation: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Where what lay at a point of the screen lies now: the deformed direction meets the screen there."""
    rays = deformation @ directions(x, y)
    return DISTANCE * rays[:2] / rays[2] + CENTRE[:, None]


def design(x: np.ndarray, y: np.ndarray, to_x: np.ndarray, to_y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Equations for the deformation's elements but the last one, which is 1: two for each window, and their right
    sides. moved() multiplied by its denominator is linear."""
    x, y, to_x, to_y = x - CENTRE[0], y - CENTRE[1], to_x - CENTRE[0], to_y - CENTRE[1]
    zero, far = np.zeros_like(x), np.full_like(x, DISTANCE)
    rows = [np.stack([x, y, far, zero, zero, zero, -to_x * x / far, -to_x * y / far], -1),
            np.stack([zero, zero, zero, x, y, far, -to_y * x / far, -to_y * y / far], -1)]
    return np.concatenate(rows), np.concatenate([to_x, to_y])


def without_volume(deformation: np.ndarray) -> np.ndarray:
    return deformation / np.cbrt(np.linalg.det(deformation))


def equations(vectors: np.ndarray, displacements: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """design() of the windows that are ok."""
    x, y = vectors["x"].astype(float), vectors["y"].astype(float)
    return design(x, y, x + displacements[0], y + displacements[1])


def deformation_of(vectors: np.ndarray) -> np.ndarray:
    """Without its change of volume, from the windows' vectors."""
    matrix, values = equations(vectors, (vectors["dx"], vectors["dy"]))
    weights = 1 / np.tile(np.maximum(vectors["sigma"], 1e-3), 2)
    found, *_ = np.linalg.lstsq(matrix * weights[:, None], values * weights, rcond=None)
    return without_volume(np.append(found, 1).reshape(3, 3))


def least_errors(pattern: np.ndarray, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What no unbiased way can be better than (Cramér and Rao), by the noise of two patterns and the slopes of the one
    without noise: (covariances of each window's displacement, variances of the deformation's elements)."""
    down, across = np.gradient(pattern)
    v, u = np.mgrid[:WINDOW, :WINDOW] * 2 / WINDOW - 1
    covariances = []
    for vector in vectors:
        left, top = int(vector["x"] - WINDOW / 2 + 0.5), int(vector["y"] - WINDOW / 2 + 0.5)
        gx, gy = (slopes[top:top + WINDOW, left:left + WINDOW] for slopes in (across, down))
        unknowns = np.stack([gx, gy, gx * u, gx * v, gy * u, gy * v]).reshape(6, -1)
        covariances.append(2 * NOISE ** 2 * np.linalg.inv(unknowns @ unknowns.T)[:2, :2])
    matrix, _ = equations(vectors, (vectors["dx"], vectors["dy"]))
    pairs = matrix.reshape(2, -1, 8)  # x and y of each window
    information = np.einsum("iwk,wij,jwl->kl", pairs, np.linalg.inv(covariances), pairs)
    # Without the volume: a third of the trace goes from the diagonal, whose last element is fixed.
    elements = np.append(np.eye(8), np.zeros((1, 8)), 0)
    elements[[0, 4, 8]] -= (elements[0] + elements[4]) / 3
    return np.array(covariances), elements @ np.linalg.inv(information) @ elements.T


def part(sign: int) -> np.ndarray:
    """Of the elements of a deformation those of its strain (1) or its rotation (-1)."""
    swap = np.arange(9).reshape(3, 3).T.ravel()
    return (np.eye(9) + sign * np.eye(9)[swap]) / 2


def deformations(count: int, random: np.random.Generator) -> list[np.ndarray]:
    """Strains and rotations of up to half a per cent."""
    return [without_volume(np.eye(3) + random.uniform(-0.005, 0.005, (3, 3))) for _ in range(count)]


def plot(path: str, reference: np.ndarray, vectors: np.ndarray, found: np.ndarray, true: np.ndarray) -> None:
    """The displacements of one pattern; what was found against what is true."""
    from matplotlib import figure as figures  # pylint: disable=import-outside-toplevel
    figure = figures.Figure(figsize=(10.5, 4.8), layout="constrained")
    screen, axes = figure.subplots(1, 2, width_ratios=(1, 1.05))
    screen.imshow(reference, cmap="gray", vmin=20, vmax=230)
    arrows = screen.quiver(vectors["x"], vectors["y"], vectors["dx"], vectors["dy"], color="#f0e442", angles="xy",
                           scale_units="xy", scale=0.08, width=0.004)
    screen.quiverkey(arrows, 0.86, 0.95, 4, "4 pixels", labelpos="W", labelcolor="white")
    screen.axis("off")
    for name, sign, colour in (("strain", 1, "#2b80d8"), ("rotation", -1, "#e8590c")):
        x, y = (100 * ((each - np.eye(3)).reshape(-1, 9) @ part(sign).T) for each in (true, found))
        places = np.triu_indices(3, 0 if sign == 1 else 1)
        upper = 3 * places[0] + places[1]
        axes.plot(x[:, upper].ravel(), y[:, upper].ravel(), "o", markersize=4, color=colour, alpha=0.7, label=name)
    axes.axline((0, 0), slope=1, color="gray", linewidth=0.8)
    axes.set(xlabel="true, %", ylabel="found, %", aspect="equal")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=110)


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def main() -> None:
    path, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 12
    random = np.random.default_rng(11)
    pattern, true = draw(np.eye(3)), np.array(deformations(count, random))
    reference = seen(pattern, random)
    y, x = np.mgrid[:SIZE, :SIZE] - SIZE / 2 + 0.5
    screen = x * x + y * y < (SIZE / 2) ** 2  # round
    matcher = xcorr.FieldMatcher(reference, screen, device="auto", windows=(WINDOW,), spacing=WINDOW, search_range=12,
                                 subpixel="least-squares", spline_degree=3, median_limit=0, min_counted=0.9)
    found, bounds = [], []
    errors: list[list[np.ndarray]] = []
    shown = np.empty(0, xcorr.VECTOR)
    for deformation in true:
        vectors = matcher.match(seen(draw(deformation), random))
        vectors = vectors[vectors["status"] == 0]
        found.append(deformation_of(vectors))
        there = moved(deformation, vectors["x"].astype(float), vectors["y"].astype(float))
        errors.append([vectors["x"] + vectors["dx"] - there[0], vectors["y"] + vectors["dy"] - there[1]])
        bounds.append(least_errors(pattern, vectors))
        if not shown.size:
            shown = vectors
    print(f"{len(shown)} sub-regions of {WINDOW}x{WINDOW} to {count} patterns on the {matcher.device}")
    least = np.concatenate([np.diagonal(each, axis1=1, axis2=2).ravel() for each, _ in bounds])
    print(f"displacement: {rms(np.concatenate(errors, 1)):.4f} px, at least {np.sqrt(np.mean(least)):.4f}")
    for name, sign in (("strain", 1), ("rotation", -1)):
        error = (np.array(found) - true).reshape(-1, 9) @ part(sign).T
        variances = [np.trace(part(sign) @ covariance @ part(sign).T) / 9 for _, covariance in bounds]
        print(f"{name}: {rms(error):.2e}, at least {np.sqrt(np.mean(variances)):.2e}")
    plot(path, reference, shown, np.array(found), true)


if __name__ == "__main__":
    main()
