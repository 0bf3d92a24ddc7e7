# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is searched, and how: the library's settings as plain values."""
from __future__ import annotations

import dataclasses
import difflib
from typing import TYPE_CHECKING, Any, Iterable, Literal, Mapping, TypedDict, TypeVar, Union, get_args

import numpy

from . import _xcorr
from ._devices import open_device

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    _S = TypeVar("_S", bound=DataclassInstance)

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
MatchOn = Literal["luma", "color", "edges", "color-edges"]

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

    def __post_init__(self) -> None:
        made = _xcorr.MatchSettings()
        made.poses = _pose_range(self)
        if (self.angle_start, self.angle_extent, self.scale_min, self.scale_max) == (0, 0, 1, 1):
            made.poses.angle_extent = 1.0  # else there are none, and how they are searched may be anything
        _check(made, open_device("cpu"), vars(self))


@dataclasses.dataclass(frozen=True)
class Settings:
    """How a :class:`Matcher` searches.

    Attributes
    ----------
    method : str or int
        One of ``METHODS``, or a constant of OpenCV's.
    match_on : str
        What of frames and templates is compared: ``"luma"``; ``"color"``, the three channels of those that have them
        (`Matcher`'s ``colours``), as OpenCV does, where a gray template is gray in all of them; ``"edges"``, the
        directions of their edges, whatever their brightness and contrast: the score is the visible share; or
        ``"color-edges"``, those of the channel where they are strongest. Edges are those of 8 bits, by no
        method.
    edge_contrast : float
        On edges: the gradient that an edge of a template has at least, in gray levels a pixel, up to 64; in frames
        half of it is enough, and in a template that has few edges.
    threshold : float
        How close a match must be, -1 to 1: its score is at least that share of what an exact copy scores; for
        the two sqdiff methods at most ``1 - threshold`` times what a zero window scores.
    polarity : str
        Which contrast a match has: the template's (``"same"``), the opposite one (``"inverted"``) or
        ``"either"``; the last two for the methods "ccoeff" and "ccoeff-normed", and on edges.
    min_contrast : float
        Places whose pixels under the template have a standard deviation below that are no match.
    confirm_threshold : float
        Above 0: peaks stay where template and frame differ by at most that in each square of 8 x 8 pixels, root mean
        square in gray levels of the template, after what the method does not compare is made equal: tells similar
        icons apart. On luma and colour, without overhang.
    weights : bool
        Masks are weights: a pixel counts as often as its byte of the mask says, 0 to 255 times, instead of where that
        is not 0. For normed methods on luma and colour, without overhang; upright of uint8, without
        ``confirm_threshold``.
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
    overhang : float
        The share of a template's pixels that may lie outside the frame, 0 to 0.5; the score is that of the others.
        Above 0 with a normed method, for poses on the CPU only.
    prefilter_sigma : float
        Frame and templates are smoothed by a Gaussian of this width in pixels, 0 to 10.
    kernel : str
        ``"auto"``, ``"tune"`` (measure what is fastest here) or the name of a kernel.
    poses : Poses, optional
        The angles and sizes that are searched; None: upright templates of their own size.
    max_work : float
        Seconds that a frame may take, by an estimate; a task that takes longer is refused with a ValueError. 0: any.
    max_memory : int
        Bytes for all that is made of templates; the same. 0: any.
    min_confidence : float
        How sure it must be that a peak's place is right, 0 to 1; others are not reported. From 0 on peaks have a
        ``confidence``, by the method "ccoeff-normed" on luma and on edges; below 0 it is -1.
    """

    method: Method = "ccoeff-normed"
    threshold: float = 0.5
    polarity: Polarity = "same"
    min_contrast: float = 0.0
    confirm_threshold: float = 0.0
    weights: bool = False
    max_peaks: int = 1
    min_peak_distance: int = 0
    subpixel: Subpixel | bool = "least-squares"
    subpixel_threshold: float = -1.0
    search_region: tuple[int, int, int, int] | None = None
    prefilter_sigma: float = 0.0
    kernel: str = "auto"
    poses: Poses | None = None
    match_on: MatchOn = "luma"
    edge_contrast: float = 1.5
    max_work: float = 0.0
    max_memory: int = 2_000_000_000
    overhang: float = 0.0
    min_confidence: float = -1.0

    def __post_init__(self) -> None:
        check_settings(dataclasses.replace(self, kernel="auto") if self.kernel != "auto" else self, open_device("cpu"))


class SettingsChanges(TypedDict, total=False):
    """The fields of `Settings`, as keyword arguments."""

    method: Method
    threshold: float
    polarity: Polarity
    min_contrast: float
    confirm_threshold: float
    weights: bool
    max_peaks: int
    min_peak_distance: int
    subpixel: Subpixel | bool
    subpixel_threshold: float
    search_region: tuple[int, int, int, int] | None
    prefilter_sigma: float
    kernel: str
    poses: Poses | None
    match_on: MatchOn
    edge_contrast: float
    max_work: float
    max_memory: int
    overhang: float
    min_confidence: float


def changed(kind: type[_S], settings: _S | None, changes: Mapping[str, Any], others: Iterable[str]) -> _S:
    """Settings, or the default ones, with other values. Raises TypeError for a name that there is not, and says which
    it may be.

    `others`: further keyword arguments of the caller's.
    """
    if settings is None:
        settings = kind()
    if not isinstance(settings, kind):
        raise TypeError(f"settings are {kind.__name__}, not {settings!r}")
    fields = [field.name for field in dataclasses.fields(settings)]
    for name in changes:
        if name not in fields:
            near = difflib.get_close_matches(name, [*fields, *others], 1)
            hint = f"; is {near[0]!r} meant?" if near else f"; there are {', '.join(fields)}"
            raise TypeError(f"there is no setting {name!r}{hint}")
    return dataclasses.replace(settings, **changes)


_checkers: dict[int, _xcorr.Matcher] = {}


def check_settings(settings: Settings, device: _xcorr.Device) -> _xcorr.MatchSettings:
    """The same as the module has them. Raises TypeError or ValueError, which say what can be and what was given."""
    made = library_settings(settings)
    _check(made, device, {**(vars(settings.poses) if settings.poses else {}), **vars(settings)})
    return made


def _check(made: _xcorr.MatchSettings, device: _xcorr.Device, values: Mapping[str, Any]) -> None:
    """The library, without templates, looks at all that depends on neither them nor the frame."""
    if device.ordinal not in _checkers:
        _checkers[device.ordinal] = _xcorr.Matcher(device)
    try:
        _checkers[device.ordinal].prepare("u1", 64, 64, made)
    except ValueError as error:
        raise ValueError(with_value(str(error), values)) from None


def with_value(message: str, values: Mapping[str, Any]) -> str:
    """A message of the library's with the value of the setting that it names."""
    named = [name for name in values if name in message]
    known = named and " must be " in message and ", not" not in message
    return f"{message}, not {values[max(named, key=len)]!r}" if known else message


def library_settings(settings: Settings) -> _xcorr.MatchSettings:
    """The same as the module has them. Raises TypeError or ValueError for values of other types."""
    if settings.poses is not None and not isinstance(settings.poses, Poses):
        raise TypeError(f"poses are Poses, such as Poses(angle_extent=360), or None, not {settings.poses!r}")
    made = _xcorr.MatchSettings()
    if settings.poses is not None:
        made.poses = _pose_range(settings.poses)
    made.method = method_number(settings.method)
    made.search_region = tuple(settings.search_region or (0, 0, 0, 0))
    made.subpixel = _subpixel_number(settings.subpixel)
    made.match_on = _place_in(get_args(MatchOn), "match_on", settings.match_on)
    made.polarity = _place_in(("same", "inverted", "either"), "polarity", settings.polarity)
    for name in ("threshold", "subpixel_threshold", "min_contrast", "max_peaks", "min_peak_distance", "prefilter_sigma",
                 "kernel", "edge_contrast", "max_work", "max_memory", "overhang", "min_confidence",
                 "confirm_threshold", "weights"):
        _assign(made, name, getattr(settings, name))
    return made


def _pose_range(poses: Poses) -> _xcorr.PoseRange:
    made = _xcorr.PoseRange()
    for name, value in vars(poses).items():
        _assign(made, name, value)
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
