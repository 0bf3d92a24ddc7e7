# SPDX-License-Identifier: LGPL-2.1-or-later
"""Masks from samples: which pixels of a template are the same whenever it appears."""
from __future__ import annotations

from typing import Any, Sequence

import numpy as np

_ROUNDS = 5  #: of fits, each to the pixels that the one before fitted, or the better half of them


def learn_mask(samples: Sequence[Any], tolerance: float = 12.0) -> np.ndarray:
    """Returns the mask of those pixels of the first sample that all others confirm.

    Each other sample is given the first one's brightness and contrast, as they are where the two agree. A pixel stays
    where in no sample the 3 x 3 pixels round it differ by more than the tolerance, as a root mean square. What stays
    must be half of the picture or more: cut closely.

    Parameters
    ----------
    samples : sequence of arrays
        Two or more pictures of one size that show one thing at one place, such as a button with other labels or a
        logo on other grounds. The first is the template. Gray, or in colour with channels last.
    tolerance : float
        In the samples' gray levels: more than their noise.

    Returns
    -------
    numpy.ndarray
        Of uint8, height x width: 255 where a pixel stays, 0 elsewhere; for `Matcher`, ``mask-file`` or as alpha.

    Raises
    ------
    ValueError
        For fewer than two samples, those of different shapes, and where no pixel stays.
    """
    pictures = [np.asarray(each, dtype=np.float64) for each in samples]
    if len(pictures) < 2:
        raise ValueError("what stays is learnt from two samples or more")
    template = pictures[0]
    for i, picture in enumerate(pictures):
        if picture.shape != template.shape or picture.ndim not in (2, 3) or picture.size == 0:
            raise ValueError(f"sample {i} is of shape {picture.shape}, the first of {template.shape}: samples are "
                             "images of one size, gray or with channels last")
    stays = np.all([_differences(picture, template, tolerance) <= tolerance for picture in pictures[1:]], axis=0)
    if not stays.any():
        raise ValueError(f"no pixel differs by {tolerance:g} gray levels or less in all samples: they show different "
                         "things, or at different places")
    return np.where(stays, np.uint8(255), np.uint8(0))


def _differences(picture: np.ndarray, template: np.ndarray, tolerance: float) -> np.ndarray:
    """Of each pixel's surroundings, after the picture has the template's brightness and contrast."""
    channels = (2,) if template.ndim == 3 else ()
    height, width = template.shape[:2]
    agrees, squares = np.ones((height, width), bool), np.zeros((height, width))
    for _ in range(_ROUNDS):
        f_mean, t_mean = picture[agrees].mean(axis=0), template[agrees].mean(axis=0)
        f, t = picture - f_mean, template - t_mean
        energy = np.square(f[agrees]).sum()
        gain = (f[agrees] * t[agrees]).sum() / energy if energy > 0 else 1.0
        if gain <= 0:
            return np.full((height, width), np.inf)
        squares = np.square(gain * f - t).mean(axis=channels)
        agrees = squares <= max(np.median(squares), tolerance * tolerance)
    padded = np.pad(squares, 1, mode="edge")
    around = sum(padded[y:y + height, x:x + width] for y in range(3) for x in range(3))
    return np.asarray(np.sqrt(around / 9))
