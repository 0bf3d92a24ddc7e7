# SPDX-License-Identifier: LGPL-2.1-or-later
"""A field as an image: arrows over the reference or white, with a map of colours between them."""
from __future__ import annotations

import pathlib

import numpy as np

from .images import library
from .writing import Field, numbered, whole

MAPS = ("none", "magnitude", "u", "v", "strain-xx", "strain-yy", "strain-xy", "vorticity")
BACKGROUNDS = ("reference", "none")

_SLOPES = ("dx_by_x", "dx_by_y", "dy_by_x", "dy_by_y")


def _slopes_of(vectors: np.ndarray) -> dict[str, np.ndarray]:
    """Those measured or, of windows that were replaced and without any, differences between windows; NaN where windows
    are in no grid."""
    found = {name: np.full(vectors.shape, np.nan) for name in _SLOPES}
    if min(vectors.shape) > 1:
        y, x = vectors["y"][:, 0], vectors["x"][0]
        for component in ("dx", "dy"):
            found[f"{component}_by_y"], found[f"{component}_by_x"] = np.gradient(vectors[component], y, x)
    if any(vectors[name].any() for name in _SLOPES):
        found = {name: np.where(vectors["status"] == 0, vectors[name], found[name]) for name in _SLOPES}
    return found


def values_of(vectors: np.ndarray, shown: str) -> np.ndarray:
    """What a map shows; NaN: nothing."""
    values: dict[str, np.ndarray] = {"none": np.full(vectors.shape, np.nan), "u": vectors["dx"], "v": vectors["dy"],
                                     "magnitude": np.hypot(vectors["dx"], vectors["dy"])}
    if shown in values:
        return values[shown]
    slopes = _slopes_of(vectors)
    values = {"strain-xx": slopes["dx_by_x"], "strain-yy": slopes["dy_by_y"],
              "strain-xy": (slopes["dx_by_y"] + slopes["dy_by_x"]) / 2,
              "vorticity": slopes["dy_by_x"] - slopes["dx_by_y"]}
    return values[shown]


def plot(path: pathlib.Path, reference: np.ndarray, vectors: np.ndarray, shown: str,
         background: str = "reference") -> None:
    """Write an image of the field; its format is by the file's ending."""
    figures = library("matplotlib.figure", "plotting", "matplotlib")
    figure = figures.Figure(figsize=(6, 6 * reference.shape[0] / reference.shape[1] + 0.4), layout="constrained")
    axes = figure.add_subplot()
    if background == "reference":
        axes.imshow(reference, cmap="gray")
    else:
        axes.set(xlim=(-0.5, reference.shape[1] - 0.5), ylim=(reference.shape[0] - 0.5, -0.5), aspect="equal")
    axes.set(xlabel="x (pixels)", ylabel="y (pixels)")
    values = np.where(vectors["status"] < 2, values_of(vectors, shown), np.nan)
    if np.isfinite(values).any():
        extent = float(np.nanmax(np.abs(values), initial=0)) or 1.0
        signed = shown != "magnitude"
        looks = {"cmap": "RdBu_r" if signed else "viridis", "vmin": -extent if signed else 0, "vmax": extent}
        if len(vectors) == 1:  # windows at any places
            # Flat: a row of three or four numbers would be a colour.
            image = axes.scatter(vectors["x"][0], vectors["y"][0], c=values[0], s=60, alpha=0.7, **looks)
        else:
            image = axes.pcolormesh(vectors["x"], vectors["y"], values, alpha=0.7, shading="nearest", **looks)
        pixels = shown in ("magnitude", "u", "v")
        figure.colorbar(image, ax=axes, shrink=0.8, label=f"{shown} (pixels)" if pixels else shown)
    for status, colour in ((0, "#f0e442" if background == "reference" else "black"), (1, "#d55e00")):
        some = vectors[vectors["status"] == status]
        if some.size:
            longest = float(np.hypot(vectors["dx"], vectors["dy"]).max()) or 1.0
            spacing = float(np.sqrt(np.ptp(vectors["x"]) * np.ptp(vectors["y"]) / vectors.size)) or 16.0
            arrows = axes.quiver(some["x"], some["y"], some["dx"], some["dy"], color=colour, angles="xy",
                                 scale_units="xy", scale=longest / (1.2 * spacing), width=0.002)
            if status == 0:
                axes.quiverkey(arrows, 0.9, 1.02, longest, f"{longest:.3g} pixels", labelpos="W")
    figure.savefig(path, dpi=110)


class Plots:
    """An image of each field, as a writer."""

    def __init__(self, path: pathlib.Path, several: bool, shown: str, background: str = "reference") -> None:
        library("matplotlib", "plotting", "matplotlib")
        self._path, self._several, self._shown, self._background = path, several, shown, background

    def write(self, field: Field) -> None:
        with whole(numbered(self._path, field.number, self._several)) as part:
            plot(part, field.reference, field.vectors, self._shown, self._background)

    def close(self) -> None:
        pass
