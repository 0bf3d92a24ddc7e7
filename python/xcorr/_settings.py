# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is searched, and how: the library's settings as plain values."""
from __future__ import annotations

import dataclasses
from typing import Any, Literal, Union

import numpy

from . import _xcorr

#: The methods, in the order of OpenCV's constants.
METHODS: tuple[str, ...] = _xcorr.methods

TM_SQDIFF, TM_SQDIFF_NORMED, TM_CCORR, TM_CCORR_NORMED, TM_CCOEFF, TM_CCOEFF_NORMED = range(6)

#: What a method is given as: one of the names, in OpenCV's spelling too, or its number.
Method = Union[Literal[
    "sqdiff", "sqdiff-normed", "ccorr", "ccorr-normed", "ccoeff", "ccoeff-normed",
    "sqdiff_normed", "ccorr_normed", "ccoeff_normed",
    "TM_SQDIFF", "TM_SQDIFF_NORMED", "TM_CCORR", "TM_CCORR_NORMED", "TM_CCOEFF", "TM_CCOEFF_NORMED",
], int]
Polarity = Literal["same", "inverted", "either"]
Subpixel = Literal["none", "quadratic", "least-squares"]

_numbers = {name: number for number, name in enumerate(METHODS)}


def method_number(method: str | int) -> int:
    """Of a name ("ccoeff-normed", "TM_CCOEFF_NORMED") or a constant of OpenCV's."""
    if isinstance(method, str):
        number = _numbers.get(method)
        if number is None:
            number = _numbers.get(method.lower().replace("_", "-").removeprefix("tm-"))
    else:
        number = int(method) if 0 <= method < len(METHODS) else None
    if number is None:
        raise ValueError(f"no such method: {method!r}; there are {', '.join(METHODS)}")
    return number


@dataclasses.dataclass(frozen=True)
class Poses:
    """The angles and sizes at which templates are searched.

    Attributes
    ----------
    angle_start, angle_extent : float
        The first angle, and from it to the last; degrees, counter-clockwise as seen.
    angle_step : float
        From one angle to the next in the last pass; 0: so that the template's rim moves by a pixel.
    scale_min, scale_max : float
        The range of scales, 0.1 to 10.
    scale_step : float
        From one scale to the next, as a share of the scale; 0: so that the rim moves by a pixel.
    pyramid_levels : int
        How often frame and template are halved for the first pass, 0 to 8; -1: as often as the template's
        details permit.
    exhaustive : bool
        All poses are searched at full size, whatever the levels; slower, but nothing is missed that a coarse look
        would.
    max_overlap : float
        The share of the smaller one's area that two peaks of a template may have in common, 0 to 1.
    """

    angle_start: float = 0.0
    angle_extent: float = 0.0
    angle_step: float = 0.0
    scale_min: float = 1.0
    scale_max: float = 1.0
    scale_step: float = 0.0
    pyramid_levels: int = -1
    exhaustive: bool = False
    max_overlap: float = 0.5


@dataclasses.dataclass(frozen=True)
class Settings:
    """How a :class:`Matcher` searches.

    Attributes
    ----------
    method : str or int
        One of ``METHODS``, or a constant of OpenCV's.
    threshold : float
        How close a match must be, -1 to 1: its score is at least that share of what an exact copy scores; for
        the two sqdiff methods at most ``1 - threshold`` times what a zero window scores.
    polarity : str
        Which contrast a match has: the template's (``"same"``), the opposite one (``"inverted"``) or
        ``"either"``; the last two for the methods "ccoeff" and "ccoeff-normed".
    min_contrast : float
        Places whose pixels under the template have a standard deviation below that are no match.
    max_peaks : int
        Per template, 1 to 1024.
    min_peak_distance : int
        Pixels. A peak is a place that no better one lies nearer to, in x and in y; 0: half the template's
        width and height.
    subpixel : str or bool
        How places are found to fractions of a pixel: ``"none"``, ``"quadratic"`` (through the scores) or
        ``"least-squares"``. False and True: the first and the last.
    subpixel_threshold : float
        -1 to 1. Peaks whose closeness is less are left at whole pixels, which is quicker where many are found.
    search_region : (x, y, width, height), optional
        The part of the frame in which matches lie; None: all of it.
    prefilter_sigma : float
        Frame and templates are smoothed by a Gaussian of this width in pixels, 0 to 10.
    kernel : str
        ``"auto"``, ``"tune"`` (measure what is fastest here) or the name of a kernel.
    poses : Poses, optional
        The angles and sizes that are searched; None: upright templates of their own size.
    """

    method: Method = "ccoeff-normed"
    threshold: float = 0.5
    polarity: Polarity = "same"
    min_contrast: float = 0.0
    max_peaks: int = 1
    min_peak_distance: int = 0
    subpixel: Subpixel | bool = "least-squares"
    subpixel_threshold: float = -1.0
    search_region: tuple[int, int, int, int] | None = None
    prefilter_sigma: float = 0.0
    kernel: str = "auto"
    poses: Poses | None = None


def library_settings(settings: Settings) -> _xcorr.MatchSettings:
    """The same as the module has them. Raises TypeError or ValueError for values that cannot be."""
    poses = _xcorr.PoseRange()
    for name, value in vars(settings.poses or Poses()).items():
        _assign(poses, name, value)
    made = _xcorr.MatchSettings()
    made.poses = poses
    made.method = method_number(settings.method)
    made.search_region = tuple(settings.search_region or (0, 0, 0, 0))
    made.subpixel = _subpixel_number(settings.subpixel)
    made.polarity = _place_in(("same", "inverted", "either"), "polarity", settings.polarity)
    for name in ("threshold", "subpixel_threshold", "min_contrast", "max_peaks", "min_peak_distance", "prefilter_sigma",
                 "kernel"):
        _assign(made, name, getattr(settings, name))
    return made


def _subpixel_number(subpixel: str | bool) -> int:
    if isinstance(subpixel, (bool, numpy.bool_)):
        return 2 if subpixel else 0
    return _place_in(("none", "quadratic", "least-squares"), "subpixel", subpixel)


def _place_in(values: tuple[str, ...], name: str, value: str | bool) -> int:
    if not isinstance(value, str):
        raise TypeError(f"{name} cannot be {value!r}")
    if value not in values:
        raise ValueError(f"{name} is one of {', '.join(values)}, not {value!r}")
    return values.index(value)


def _assign(to: Any, name: str, value: Any) -> None:
    try:
        setattr(to, name, value)
    except TypeError:
        raise TypeError(f"{name} cannot be {value!r}") from None
