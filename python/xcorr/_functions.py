# SPDX-License-Identifier: LGPL-2.1-or-later
"""Template matching with scikit-image's and OpenCV's signatures."""
from __future__ import annotations

from typing import Any

import numpy as np

from . import _definition
from ._arrays import Host, host_array, kind_of, place_of
from ._correlations import products
from ._elements import MASKS, MATCHED, check_alike, is_finite
from ._scores import score
from ._settings import Method, method_number
from ._typing import overload


def _numbers(array: Any, name: str) -> np.ndarray:
    """In host memory, of real numbers; truth values as bytes, float16 as float32."""
    array = host_array(array, name)
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise TypeError(f"{name} has elements of type {array.dtype}; integers, bool, float32 and float64 are taken, so "
                        "convert it first")
    if array.dtype == bool:
        return array.view("u1")
    if array.dtype.itemsize == 2 and array.dtype.kind == "f":
        return array.astype("f4")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _check_shapes(image: tuple[int, ...], template: tuple[int, ...], dimensions: tuple[int, ...]) -> None:
    known = "two" if dimensions == (2,) else "two or three"
    for name, shape in (("image", image), ("template", template)):
        if len(shape) not in dimensions:
            raise ValueError(f"{name} must have {known} dimensions; it has the shape {shape}")
    if len(image) != len(template):
        raise ValueError(f"template must have as many dimensions as image; they have the shapes {template} and {image}")
    if 0 in image or 0 in template:
        raise ValueError(f"image or template is empty: they have the shapes {image} and {template}")
    if any(extent > room for extent, room in zip(template, image)):
        raise ValueError(f"the template of shape {template} does not fit into the image of shape {image}")


def _is_matched(image: np.ndarray, template: np.ndarray, mask: np.ndarray | None, channels: bool = False) -> bool:
    """Whether the library's matchers take it."""
    return ((image.ndim == 2 or (channels and image.shape[2] == 3))
            and image.dtype == template.dtype and image.dtype.str[1:] in MATCHED
            and (image.dtype != np.uint16 or template.size <= 2 ** 21)
            and (mask is None or (mask.dtype.str[1:] in MASKS and mask.ndim == 2))
            and (image.dtype.kind != "f" or _is_moderate(template)))


def _is_moderate(template: np.ndarray) -> bool:
    """Whether products of its elements can be added up in single precision."""
    largest = float(np.abs(template).max())
    return largest == 0 or 1e-18 <= largest <= 1e15


def _pixels(place: Any, array: np.ndarray, name: str) -> Any:
    """As the library reads it: gray, or with three channels, which of other types than bytes must be planes."""
    if array.ndim == 2:
        return place.image(array, name, MATCHED)
    if array.dtype == np.uint8:
        return place.image(array, name, MATCHED, "rgb")
    return place.image(np.moveaxis(array, 2, 0), name, MATCHED, "planes")


def _meets(bad: np.ndarray, shape: tuple[int, ...], mask: np.ndarray | None) -> np.ndarray:
    """At which places the template, of that shape, lies over a bad pixel that counts."""
    if mask is None:
        return _definition.window_sums(bad, shape)[0] > 0
    return products(np.ascontiguousarray(bad), mask != 0) > 0


def _layers(image: np.ndarray, template: np.ndarray, mask: np.ndarray | None, channels: bool) -> list[Any]:
    """Of each channel the image, the template and the weights."""
    if not (channels and image.ndim == 3):
        return [(image, template, mask)]
    each = range(image.shape[2])
    masks = [mask if mask is None or mask.ndim == 2 else mask[..., c] for c in each]
    return [(image[..., c], template[..., c], masks[c]) for c in each]


class _Finite:
    """Images with 0 in place of what is not finite, and the places that this spoils."""

    def __init__(self, image: np.ndarray, template: np.ndarray, mask: np.ndarray | None, channels: bool) -> None:
        self._spoiled: Any = False
        self.image, self.template = image, template
        if template.dtype.kind == "f" and not is_finite(template):
            bad = ~np.isfinite(template)
            self.template = np.where(bad, template.dtype.type(0), template)
            self._spoiled = any((there & (True if counts is None else counts != 0)).any()
                                for _, there, counts in _layers(bad, bad, mask, channels))
        if image.dtype.kind == "f" and not is_finite(image):
            bad = ~np.isfinite(image)
            self.image = np.where(bad, image.dtype.type(0), image)
            for there, part, counts in _layers(bad, template, mask, channels):
                self._spoiled = self._spoiled | _meets(there, part.shape, counts)

    def spoil(self, scores: np.ndarray) -> None:
        if np.any(self._spoiled):
            scores[np.broadcast_to(self._spoiled, scores.shape)] = np.nan


def _weights(mask: Any, template: np.ndarray) -> np.ndarray | None:
    """A mask as the definition has it: integers 0 and 1, or floats."""
    if mask is None:
        return None
    mask = _numbers(mask, "mask")
    if mask.shape != template.shape and mask.shape != template.shape[:2]:
        raise ValueError(f"the mask of shape {mask.shape} does not fit the template of shape {template.shape}")
    if mask.dtype.kind == "f" and not np.isfinite(mask).all():
        raise ValueError("the mask has weights that are not finite")
    weights = mask if mask.dtype.kind == "f" else (mask != 0).astype("u1")
    if not weights.any(axis=(0, 1)).all():
        raise ValueError("the mask leaves no pixel that counts")
    return weights


def _write(scores: np.ndarray, out: Any) -> Any:
    if out.shape != scores.shape:
        raise ValueError(f"out has not the shape of the result, {scores.shape}")
    np.copyto(out, scores, casting="same_kind")
    return out


def _on_host(image: np.ndarray, template: np.ndarray, method: int, mask: np.ndarray | None, type_: Any, device: str,
             out: Any, channels: bool) -> Any:
    """Of arrays that have been checked."""
    place = Host(device)
    finite = _Finite(image, template, mask, channels)
    if _is_matched(finite.image, finite.template, mask, channels):
        frame, pattern = _pixels(place, finite.image, "image"), _pixels(place, finite.template, "template")
        if out is None:
            out = place.empty((frame.height - pattern.height + 1, frame.width - pattern.width + 1), "f4")
        score(place, frame, pattern, method, mask, place.target(out), image.ndim == 3)
    elif place.device.is_gpu:
        raise ValueError("a GPU matches two-dimensional uint8, uint16 and float32, both alike, with masks of integers")
    else:
        scores = _definition.scores(_layers(finite.image, finite.template, mask, channels), method)
        out = scores.astype(type_, copy=False) if out is None else _write(scores, out)
    finite.spoil(out)
    return out


def _on_gpu(image: Any, template: Any, method: int, mask: Any, device: str | None, pad: bool, fill: Any,
            out: Any) -> Any:
    place = place_of(image, "image", device)
    with place.current():
        pattern = place.image(template, "template", MATCHED)
        frame = place.image(image, "image", MATCHED)
        check_alike(frame, "image", pattern, "template")
        _check_shapes((frame.height, frame.width), (pattern.height, pattern.width), (2,))
        if pad:
            frame = place.image(_around(place, place.here(image), pattern, fill), "image", MATCHED)
        if out is None:
            out = place.empty((frame.height - pattern.height + 1, frame.width - pattern.width + 1), "f4")
        score(place, frame, pattern, method, None if mask is None else np.ascontiguousarray(host_array(mask)),
              place.target(out))
    return out


def _around(place: Any, image: Any, template: Any, fill: Any) -> Any:
    """With as much of a value around it that the template's middle can lie on every pixel."""
    height, width = image.shape
    padded = place.zeros((height + template.height - 1, width + template.width - 1), image)
    if fill:
        padded[...] = fill
    top, left = template.height // 2, template.width // 2
    padded[top:top + height, left:left + width] = image
    return padded


#: Those of `numpy.pad` by which what lies outside has the image's own values: no means that integers would round.
_EXACT_MODES = ("edge", "maximum", "minimum", "reflect", "symmetric", "wrap")


def _padded(image: np.ndarray, shape: tuple[int, ...], mode: Any, fill: Any) -> np.ndarray:
    """The same by `numpy.pad`, which may look how far it pads: as far as scikit-image does."""
    if mode != "constant":
        if image.dtype.kind != "f" and mode not in _EXACT_MODES:
            image = image.astype("f8")
        padded = np.pad(image, [(extent, extent) for extent in shape], mode=mode)
        return padded[tuple(slice(extent - extent // 2, extent - extent // 2 + room + extent - 1)
                            for extent, room in zip(shape, image.shape))]
    margins = [(extent // 2, extent - 1 - extent // 2) for extent in shape]
    values = np.asarray(fill)
    if values.dtype.kind not in "biuf":
        raise ValueError(f"constant_values must be a number or numbers, not {fill!r}")
    with np.errstate(invalid="ignore"):
        if image.dtype.kind != "f" and not np.array_equal(values.astype(image.dtype), values):
            image = image.astype("f8")
    return np.pad(image, margins, constant_values=fill)


@overload
def match_template(image: np.ndarray, template: Any, pad_input: bool = ..., mode: Any = ..., constant_values: Any = ...,
                   *, method: Method = ..., mask: Any = ..., device: str | None = ...,
                   out: Any = ...) -> np.ndarray: ...
@overload
def match_template(image: Any, template: Any, pad_input: bool = ..., mode: Any = ..., constant_values: Any = ..., *,
                   method: Method = ..., mask: Any = ..., device: str | None = ..., out: Any = ...) -> Any: ...
def match_template(image: Any, template: Any, pad_input: bool = False, mode: Any = "constant", constant_values: Any = 0,
                   *, method: Method = "ccoeff-normed", mask: Any = None, device: str | None = None,
                   out: Any = None) -> Any:
    """How well a template matches at every place of an image.

    As `skimage.feature.match_template`, with all of OpenCV's methods. The default one is the same,
    zero-normalised cross-correlation; of 8-bit and 16-bit images it is exact but for the rounding to float32.

    Parameters
    ----------
    image : array of shape (height, width), or a volume of three dimensions
        Of NumPy, CuPy or PyTorch, or anything with DLPack or ``__cuda_array_interface__``; of integers, bool, float32
        or float64. Of uint8, uint16 and float32, as the template, crops and read-only arrays are read where they are.
        On a GPU these three alone are taken, and no volumes.
    template : array no larger than the image
        With an image on a GPU: on the same one, or in host memory.
    pad_input : bool
        Pad the image, so that the result has its shape, and peaks lie at the templates' middles instead of their
        upper left corners.
    mode : str or function
        How, as `numpy.pad` has it. On a GPU "constant" alone.
    constant_values : number or sequence
        For "constant"; as `numpy.pad` has it, on a GPU one number.
    method : str or int
        One of ``xcorr.METHODS``, or a constant of OpenCV's such as ``xcorr.TM_SQDIFF``.
    mask : array of the template's shape, optional
        Of integers or bool: the pixels where it is 0 do not count, in the template and everywhere in the image. Of
        floats (not on a GPU): weights of pixels, as OpenCV's.
    device : str, optional
        Where to work on images in host memory: ``"cpu"`` (the default), ``"cuda"``, ``"cuda:1"``. Images on a
        GPU are matched there.
    out : array of the result's shape, optional
        Where the result is written, in the image's memory; of float32 where both are uint8, uint16 or float32.

    Returns
    -------
    array of float32, or of float64 for wider integers and float64
        Of shape (image height - template height + 1, image width - template width + 1), or with `pad_input`
        the image's; an array of the image's library, or NumPy's where that is neither CuPy nor PyTorch. On a
        GPU the work is enqueued on the library's current stream, and the call does not wait.

    Raises
    ------
    TypeError
        Elements of other types.
    ValueError
        A template larger than the image, arrays of other shapes, no such method.
    MemoryError
        Not enough memory, of the host or the GPU.
    RuntimeError
        No such device, or it reports an error.

    Notes
    -----
    Where a window or the template has no contrast the score is 0, as scikit-image's (OpenCV's may be 1). Windows with
    an infinity or NaN score NaN, others do not (on a GPU those near it may).
    """
    _check_flag(pad_input)
    number = method_number(method)
    if kind_of(image) is not Host:
        if pad_input and (mode != "constant" or np.ndim(constant_values)):
            raise ValueError("images on a GPU are padded with mode 'constant' and one number for all sides")
        return _on_gpu(image, template, number, mask, device, pad_input, constant_values, out)
    image, pattern = _numbers(image, "image"), _numbers(template, "template")
    _check_shapes(image.shape, pattern.shape, (2, 3))
    if mask is not None and image.ndim == 3:
        raise ValueError("volumes are matched without a mask")
    weights = _weights(mask, pattern)
    if pad_input:
        image = _padded(image, pattern.shape, mode, constant_values)
    type_ = np.dtype("f4") if image.dtype == np.float32 or _is_matched(image, pattern, None) else np.dtype("f8")
    return _on_host(image, pattern, number, weights, type_, device or "cpu", out, False)


def _check_flag(pad_input: Any) -> None:
    """OpenCV's third one is a method, and its constants would pass for true and false."""
    if not isinstance(pad_input, (bool, np.bool_)):
        raise TypeError(f"pad_input is True or False, not {pad_input!r}; a method is given by its name: method=...")


@overload
def matchTemplate(image: np.ndarray, templ: Any, method: Method, result: Any = ..., mask: Any = ...) -> np.ndarray: ...
@overload
def matchTemplate(image: Any, templ: Any, method: Method, result: Any = ..., mask: Any = ...) -> Any: ...
def matchTemplate(image: Any, templ: Any, method: Method, result: Any = None, mask: Any = None) -> Any:
    """How well a template matches at every place of an image, with OpenCV's signature.

    As `cv2.matchTemplate`: the same values, for gray 8-bit images exact, where OpenCV's have an error of some 1e-5.
    `match_template` describes what is raised.

    Parameters
    ----------
    image, templ : arrays of shape (height, width) or (height, width, channels), both of one type
        uint8 or float32 as OpenCV's; other integers and float64 too. Channels are summed over. On a GPU: gray.
    method : int or str
        ``xcorr.TM_CCOEFF_NORMED``, which equals ``cv2.TM_CCOEFF_NORMED``, and so on, or a name.
    result : array of float32 of the result's shape, optional
        Where the result is written; another array is not used.
    mask : array of the template's shape, or of its height and width, optional
        Of integers or bool: the pixels where it is 0 do not count. Of floats: weights.

    Returns
    -------
    array of float32 of shape (height - templ height + 1, width - templ width + 1)
    """
    number = method_number(method)
    if kind_of(image) is not Host:
        return _on_gpu(image, templ, number, mask, None, False, 0, result)
    image, pattern = _numbers(image, "image"), _numbers(templ, "templ")
    if image.dtype != pattern.dtype:
        raise TypeError(f"image and templ have different types of elements: {image.dtype}, {pattern.dtype}")
    _check_shapes(image.shape, pattern.shape, (2, 3))
    if image.shape[2:] != pattern.shape[2:]:
        raise ValueError(f"image has {image.shape[2]} channels, templ {pattern.shape[2]}")
    if image.shape[2:] == (1,):
        image, pattern = image[..., 0], pattern[..., 0]
        mask = mask[..., 0] if np.ndim(mask) == 3 else mask
    weights = _weights(mask, pattern)
    shape = (image.shape[0] - pattern.shape[0] + 1, image.shape[1] - pattern.shape[1] + 1)
    usable = type(result) is np.ndarray and result.dtype == np.float32 and result.shape == shape
    return _on_host(image, pattern, number, weights, "f4", "cpu", result if usable else None, True)
