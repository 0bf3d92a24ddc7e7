# SPDX-License-Identifier: LGPL-2.1-or-later
"""Scores by OpenCV's formulas in double precision, of what the library's matchers do not take: float64 and wide
integers, several channels, volumes, masks that are weights.

Sums of products are the library's correlations. Where the mean does not count, images are taken less theirs first,
so that little contrast is not lost beside much brightness.
"""
from __future__ import annotations

import math
from typing import Any, Iterable, Sequence

import numpy as np

from ._correlations import products
from ._elements import exponent, largest

_EPSILON = 2.0 ** -52

#: Of a channel the image, the template and the weights.
Layer = tuple[np.ndarray, np.ndarray, np.ndarray | None]


def window_sums(values: np.ndarray, shape: Sequence[int]) -> tuple[np.ndarray, float]:
    """Over all windows of a shape, and how far they may be off."""
    error = 0.0
    for axis, extent in enumerate(shape):
        sums = np.zeros([n + (i == axis) for i, n in enumerate(values.shape)],
                        "i8" if values.dtype.kind in "iub" else "f8")
        along = np.moveaxis(sums, axis, 0)
        np.cumsum(values, axis=axis, out=np.moveaxis(along[1:], 0, axis))
        if sums.dtype.kind == "f":
            error += 8 * _EPSILON * float(np.abs(sums).max())
        values = np.moveaxis(along[extent:] - along[:-extent], 0, axis)
    return values, error


def window_products(image: np.ndarray, template: np.ndarray) -> np.ndarray:
    """Sums of products over all windows. Volumes are laid out in a plane, rows of voxels one after another: shifts
    that would reach from one row into the next are left out."""
    if image.ndim == 2:
        return products(image, template)
    (_, rows, depth), (height, width, thickness) = image.shape, template.shape
    plane = np.zeros((height, width, depth), template.dtype)
    plane[..., :thickness] = template
    flat = products(image.reshape(len(image), -1), plane.reshape(height, -1)[:, :(width - 1) * depth + thickness])
    sums = np.zeros((len(flat), (rows - width + 1) * depth), flat.dtype)
    sums[:, :flat.shape[1]] = flat
    return sums.reshape(len(flat), -1, depth)[..., :depth - thickness + 1]


class _Terms:
    """The sums of the formulas. Those of several channels are added."""

    def __init__(self) -> None:
        self.product: Any = 0  # sum I T
        self.left: Any = 0  # sum I^2
        self.right = 0.0  # sum T^2
        self.error = 0.0  # of `left`

    def add(self, product: Any, left: Any, error: float, right: float) -> None:
        self.product = self.product + product
        self.left = self.left + left
        self.error += error
        self.right += right

    def add_plain(self, image: np.ndarray, template: np.ndarray) -> None:
        left, error = window_sums(image * image, template.shape)
        self.add(window_products(image, template), left, error, float(np.vdot(template, template)))

    def add_centred(self, image: np.ndarray, template: np.ndarray) -> None:
        image = image - image.mean()
        template = template - template.mean()
        sums, _ = window_sums(image, template.shape)
        squares, error = window_sums(image * image, template.shape)
        left = squares - sums * sums / template.size
        self.add(window_products(image, template), left, error + 8 * _EPSILON * float(squares.max()),
                 float(np.vdot(template, template)))

    def add_weighted(self, image: np.ndarray, template: np.ndarray, weights: np.ndarray) -> None:
        squares = weights * weights
        left = window_products(image * image, squares)
        weighted = template * weights
        self.add(window_products(image, weighted * weights), left, _error_of_products(left),
                 float(np.vdot(weighted, weighted)))

    def add_centred_weighted(self, image: np.ndarray, template: np.ndarray, weights: np.ndarray) -> None:
        squares, total = weights * weights, float(weights.sum())
        image = image - image.mean()
        template = weights * (template - float(np.vdot(template, weights)) / total)
        means = window_products(image, weights) / total
        energy = window_products(image * image, squares)
        left = energy - means * (2 * window_products(image, squares) - means * float(squares.sum()))
        product = window_products(image, template * weights) - means * float(np.vdot(template, weights))
        self.add(product, left, _error_of_products(energy), float(np.vdot(template, template)))


def _error_of_products(sums: np.ndarray) -> float:
    return 0.0 if sums.dtype.kind in "iu" else 64 * _EPSILON * float(sums.max())


def _are_exact(layers: Sequence[Layer]) -> bool:
    """Whether all sums are integers that 64 bits hold."""
    if any(array is not None and array.dtype.kind == "f" for layer in layers for array in layer):
        return False
    return sum(template.size * (largest(image) + largest(template)) ** 2 for image, template, _ in layers) < 2 ** 63


def _doubles(arrays: Iterable[np.ndarray], centred: bool) -> list[np.ndarray]:
    """Of 64 bits a double holds 53: where the mean does not count, those by which elements differ."""
    return [(array - array.min()).view("u8").astype("f8") if centred and array.dtype.str[1:] in ("i8", "u8")
            else array.astype("f8") for array in arrays]


def _scaled(layers: Sequence[Layer], centred: bool, alike: bool) -> tuple[list[Layer], int]:
    """As doubles below 1, and by which power of two products are too small; `alike`: so are squares of both."""
    all_images, all_templates, all_weights = zip(*layers)
    images, templates = _doubles(all_images, centred), _doubles(all_templates, centred)
    powers = exponent(*images), exponent(*templates)
    if alike:
        powers = max(powers), max(powers)
    return [(image * 2.0 ** -powers[0], template * 2.0 ** -powers[1], None if weights is None else weights.astype("f8"))
            for image, template, weights in zip(images, templates, all_weights)], sum(powers)


def _terms(layers: Sequence[Layer], centred: bool) -> _Terms:
    terms = _Terms()
    for image, template, weights in layers:
        if weights is None:
            (terms.add_centred if centred else terms.add_plain)(image, template)
        else:
            (terms.add_centred_weighted if centred else terms.add_weighted)(image, template, weights)
    return terms


def scores(layers: Sequence[Layer], method: int) -> np.ndarray:
    """What a template scores at every place, in float64.

    Parameters
    ----------
    layers : image, template and weights or None of each channel
        Of two or three dimensions. Integers, with weights of integers, 0 and 1, have exact sums while 64 bits hold
        them and the mean counts.
    method : int
        OpenCV's number.
    """
    centred, power = method >= 4, 0
    if not centred and _are_exact(layers):
        layers = [(image.astype("i8"), template.astype("i8"), weights) for image, template, weights in layers]
    else:
        layers, power = _scaled(layers, centred, method < 2)
    terms = _terms(layers, centred)
    if method < 2:
        sums = np.maximum(terms.left - 2 * terms.product + terms.right, 0).astype("f8")
    else:
        sums = np.asarray(terms.product, "f8")
    if method % 2 == 0:
        return np.ldexp(sums, power)
    there = (terms.left > terms.error) if terms.right > 0 else np.zeros(sums.shape, bool)
    norms = np.sqrt(np.where(there, terms.left, 1).astype("f8")) * math.sqrt(terms.right or 1.0)
    nothing = (sums > 0).astype("f8") if method == 1 else 0.0
    return np.where(there, np.clip(sums / norms, -1, 1), nothing)
