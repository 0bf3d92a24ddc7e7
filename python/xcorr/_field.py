# SPDX-License-Identifier: LGPL-2.1-or-later
"""Displacement fields between images."""
from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Iterable, Literal, TypedDict

import numpy as np

from . import _xcorr
from ._arrays import host_image, place_of
from ._devices import name_of, open_device
from ._elements import MASKS, MATCHED, check_alike
from ._matcher import _dtype
from ._settings import _assign, changed, with_value

if TYPE_CHECKING:
    from typing_extensions import Unpack

FieldSubpixel = Literal["none", "gauss", "quadratic", "least-squares"]
_SUBPIXEL = ("none", "gauss", "quadratic", "least-squares")

#: A window's result: ``x``, ``y`` (its centre in the reference), ``dx``, ``dy`` (its displacement), ``dx_by_x``,
#: ``dx_by_y``, ``dy_by_x``, ``dy_by_y`` (slopes, with least squares of order 1 or 2), ``score``, ``ratio``, ``sigma``
#: and ``status``, an index into `FIELD_STATUS`.
VECTOR = _dtype(_xcorr.vector_fields)

#: What the numbers of ``status`` mean.
FIELD_STATUS = ("ok", "replaced", "masked", "out of range", "flat")


@dataclasses.dataclass(frozen=True)
class FieldSettings:
    """How a :class:`FieldMatcher` measures.

    Attributes
    ----------
    windows : tuple of int
        Pixels along a side of the windows of each pass, coarse to fine: 4 to 256 each, none larger than the one
        before.
    spacing : int
        Pixels from window to window of the last pass.
    search_range, later_range : int
        Pixels by which the first pass and later ones find windows moved along each axis, 1 to 64.
    subpixel : str
        ``"none"``, ``"gauss"``, ``"quadratic"`` or ``"least-squares"``.
    order : int
        Of least squares. 0: windows move; 1: they are also stretched and sheared; 2: and bent, as the slopes of the
        windows around them say.
    spline_degree : int
        With least squares: 3, or 5.
    weight_sigma : float
        With least squares, pixels: width of a Gauss bell by which a window's pixels weigh; 0: all alike.
    median_limit, median_noise : float
        Of the normalised median test; a limit of 0: no test.
    min_score, min_ratio : float
        Below them a displacement is replaced.
    smoothing : float
        Windows, 0 to 2: width of a Gauss bell by which displacements are averaged after each pass; 0: not at all.
    prefilter_sigma : float
        Pixels, 0 to 10: both images are smoothed first by a Gauss bell of that standard deviation; 0: not at all.
    deformation : bool
        Passes after the first search in the frame as the field found before deforms it back; of a grid only.
    symmetric : bool
        Displacements belong to the middle of the way.
    min_counted : float
        Of a window's pixels the share that must count under a mask.
    max_work : float
        Seconds that a field may take, by an estimate; a task that takes longer is refused with a ValueError. 0: any.
    max_memory : int
        Bytes for all that is made for it; the same. 0: any.
    """

    windows: tuple[int, ...] = (32,)
    spacing: int = 16
    search_range: int = 16
    later_range: int = 4
    subpixel: FieldSubpixel = "gauss"
    order: int = 1
    spline_degree: int = 5
    weight_sigma: float = 0.0
    median_limit: float = 2.0
    median_noise: float = 0.1
    min_score: float = 0.0
    min_ratio: float = 1.0
    smoothing: float = 0.0
    prefilter_sigma: float = 0.0
    deformation: bool = False
    symmetric: bool = False
    min_counted: float = 0.5
    max_work: float = 0.0
    max_memory: int = 2_000_000_000

    def __post_init__(self) -> None:
        _check_settings(self)


class FieldSettingsChanges(TypedDict, total=False):
    """The fields of `FieldSettings`, as keyword arguments."""

    windows: tuple[int, ...]
    spacing: int
    search_range: int
    later_range: int
    subpixel: FieldSubpixel
    order: int
    spline_degree: int
    weight_sigma: float
    median_limit: float
    median_noise: float
    min_score: float
    min_ratio: float
    smoothing: float
    prefilter_sigma: float
    deformation: bool
    symmetric: bool
    min_counted: float
    max_work: float
    max_memory: int


def _library_settings(settings: FieldSettings) -> _xcorr.FieldSettings:
    """The same as the module has them. Raises TypeError or ValueError for values that cannot be."""
    if settings.subpixel not in _SUBPIXEL:
        raise ValueError(f"subpixel is one of {', '.join(_SUBPIXEL)}, not {settings.subpixel!r}")
    if not isinstance(settings.windows, Iterable):
        raise TypeError(f"windows are the sides of each pass, such as (64, 32), not {settings.windows!r}")
    made = _xcorr.FieldSettings()
    for name, value in {**vars(settings), "windows": list(settings.windows),
                        "subpixel": _SUBPIXEL.index(settings.subpixel)}.items():
        _assign(made, name, value)
    return made


def _check_settings(settings: FieldSettings) -> None:
    """By the library, for an image in which all windows fit. Raises TypeError or ValueError, which say what can be."""
    made = _library_settings(settings)
    made.max_work, made.max_memory = 0, 0  # of that image
    try:
        _xcorr.FieldMatcher(open_device("cpu"), "u1", 256, 256, made, None, [])
    except ValueError as error:
        raise ValueError(with_value(str(error), vars(settings))) from None


def _places(places: Any) -> list[tuple[float, float]]:
    """As the module has them. Raises ValueError for what is not of the shape (n, 2), or n is 0."""
    if places is None:
        return []
    array = np.asarray(places, np.float32)
    if array.ndim != 2 or array.shape[1] != 2 or not array.size:
        raise ValueError(f"places are of the shape (n, 2), not {array.shape}")
    return [(x, y) for x, y in array.tolist()]


class FieldMatcher:
    """Measures how each part of an image has moved in others.

    Parameters
    ----------
    reference : array of uint8, uint16 or float32, optional
        See `set_reference`.
    mask : array of uint8 or bool of the images' shape, optional
        The pixels of the reference where it is 0 do not count.
    places : array of shape (n, 2), optional
        x and y of the centres of windows, in pixels: these instead of a grid. Neighbours are then the up to eight
        nearest ones.
    device : str
        ``"cpu"``, ``"cuda"``, ``"cuda:1"``, or ``"auto"``: a GPU, or the CPU where there is none.
    settings : FieldSettings, optional
        How to measure.
    **changes
        Fields of `FieldSettings` that are different from `settings`.

    Examples
    --------
    >>> vectors = xcorr.FieldMatcher(before, windows=(64, 32), device="cpu").match(after)
    >>> vectors["dx"], vectors["dy"]
    """

    def __init__(self, reference: Any = None, mask: Any = None, places: Any = None, *, device: str = "auto",
                 settings: FieldSettings | None = None, **changes: Unpack[FieldSettingsChanges]) -> None:
        self._device = open_device(device)
        self._settings = changed(FieldSettings, settings, changes, ("mask", "places", "device", "settings"))
        self._library_settings = _library_settings(self._settings)
        self._mask = None if mask is None else host_image(mask, "mask", MASKS)
        self._places = _places(places)
        self._matcher: _xcorr.FieldMatcher | None = None
        self._prepared_for = ("", 0, 0)
        if reference is not None:
            self.set_reference(reference)

    def __repr__(self) -> str:
        usual = vars(FieldSettings())
        words = {"device": self.device, **vars(self._settings)}
        return "<xcorr.FieldMatcher: " + ", ".join(f"{name}={value!r}" for name, value in words.items()
                                                   if value != usual.get(name)) + ">"

    @property
    def settings(self) -> FieldSettings:
        """How it measures."""
        return self._settings

    @property
    def device(self) -> str:
        """Where it works: "cpu", "cuda:0", ..."""
        return name_of(self._device)

    def _image(self, array: Any, name: str) -> tuple[Any, _xcorr.Image]:
        place = place_of(array, name, None)
        if place.device.is_gpu and place.device.ordinal != self._device.ordinal:
            raise ValueError(f"{name} is on {name_of(place.device)}, the matcher on {self.device}")
        with place.current():
            return place, place.image(array, name, MATCHED)

    def set_reference(self, reference: Any) -> None:
        """Take the image that others are compared with, of any size and type; copied.

        Parameters
        ----------
        reference : array of uint8, uint16 or float32 of shape (height, width)
            Of NumPy, CuPy, PyTorch or anything with DLPack or ``__cuda_array_interface__``. A float that is not
            finite counts as 0.
        """
        place, image = self._image(reference, "reference")
        with place.current():
            self._prepared(image).set_reference(image, place.stream)

    def _prepared(self, image: _xcorr.Image) -> _xcorr.FieldMatcher:
        """The matcher for images of that type and size."""
        asked = image.type, image.height, image.width
        if self._matcher is None or asked != self._prepared_for:
            self._matcher = _xcorr.FieldMatcher(self._device, *asked, self._library_settings, self._mask, self._places)
            self._prepared_for = asked
        return self._matcher

    def match(self, frame: Any) -> np.ndarray:
        """Measure the displacements from the reference to a frame.

        Parameters
        ----------
        frame : array of the reference's shape and type

        Returns
        -------
        array of VECTOR of shape (rows, columns)
            The windows of the last pass; those at places are one row, in their order.
        """
        if self._matcher is None:
            raise ValueError("there is no reference")
        place, image = self._image(frame, "frame")
        if image.type != self._prepared_for[0]:
            raise TypeError(f"frame has elements of type {np.dtype(image.type)}, the reference of "
                            f"{np.dtype(self._prepared_for[0])}")
        with place.current():
            return self._matcher.match(image, place.stream).view(VECTOR).reshape(self._matcher.grid)

    def match_ensemble(self, pairs: Iterable[tuple[Any, Any]]) -> np.ndarray:
        """Measure one field of several pairs that show the same motion.

        The scores of each shift are averaged over the pairs before the best one is looked for (ensemble correlation),
        so windows may be small and particles few. Not with ``subpixel="least-squares"``. Afterwards there is no
        reference.

        Parameters
        ----------
        pairs : pairs of arrays of one shape and type
            References and frames; those on a GPU have been made on one stream.

        Returns
        -------
        array of VECTOR of shape (rows, columns)
        """
        taken = [(self._image(reference, "reference"), self._image(frame, "frame")) for reference, frame in pairs]
        if not taken:
            raise ValueError("an ensemble has at least one pair")
        place, first = taken[0][0]
        for image in (image for pair in taken for _, image in pair):
            check_alike(first, "the first reference", image, "an image of the pairs")
        with place.current():
            matcher = self._prepared(first)
            vectors = matcher.match_ensemble([(reference[1], frame[1]) for reference, frame in taken], place.stream)
            return vectors.view(VECTOR).reshape(matcher.grid)

    def advance(self) -> None:
        """Make the frame that was measured last the reference, without a copy."""
        if self._matcher is None:
            raise ValueError("there is no reference")
        self._matcher.advance()
