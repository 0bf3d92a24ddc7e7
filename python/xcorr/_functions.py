# SPDX-License-Identifier: LGPL-2.1-or-later
"""The functions of scikit-image, OpenCV and SciPy that xcorr stands in for."""
from __future__ import annotations

import collections
import threading
from typing import Any

import numpy as np

from . import _xcorr
from ._arrays import CORRELATED, MASKS, MATCHED, check_alike, host_array, host_picture, place_of
from ._settings import method_number

#: How many sizes of problems are kept ready.
_KEPT = 4


class _Scorer:
    """Scores of frames and templates of one size, on one stream, under one mask."""

    def __init__(self, device: _xcorr.Device, code: str, frame: tuple[int, int], template: tuple[int, int],
                 mask: np.ndarray | None) -> None:
        self._code, self._frame = code, frame
        self._live = _xcorr.LiveTemplate(device, host_picture(np.zeros(template, code), "template", MATCHED))
        self._matcher = _xcorr.Matcher(device)
        masks = [] if mask is None else [host_picture(mask, "mask", MASKS)]
        self._matcher.set_live_templates([self._live], masks)
        self._settings = _xcorr.MatchSettings()
        self._method = -1

    def score(self, frame: _xcorr.Picture, template: _xcorr.Picture, method: int, out: _xcorr.Picture,
              stream: int) -> None:
        if method != self._method:
            self._settings.method = method
            self._matcher.prepare(self._code, *self._frame, self._settings)
            self._method = method
        self._live.blend(template, 0, 0, 1.0, stream)
        self._matcher.score(frame, 0, out, stream)


class _Scorers:
    """Idle ones, the last used last. A call has one for itself."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: collections.OrderedDict[Any, _Scorer] = collections.OrderedDict()

    def take(self, key: Any) -> _Scorer | None:
        with self._lock:
            return self._idle.pop(key, None)

    def give(self, key: Any, scorer: _Scorer) -> None:
        with self._lock:
            self._idle[key] = scorer
            while len(self._idle) > _KEPT:
                self._idle.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._idle.clear()


_scorers = _Scorers()


def clear_cache() -> None:
    """Free what :func:`match_template` keeps ready for its next call: the memory of the last four sizes."""
    _scorers.clear()


def _padded(place: Any, image: Any, template: _xcorr.Picture) -> Any:
    """With as many zeros around it that the template's middle can lie on every pixel."""
    height, width = image.shape
    padded = place.zeros((height + template.height - 1, width + template.width - 1), image)
    top, left = template.height // 2, template.width // 2
    padded[top:top + height, left:left + width] = image
    return padded


def match_template(image: Any, template: Any, method: str | int = "ccoeff-normed", mask: Any = None,
                   pad_input: bool = False, *, device: str | None = None, out: Any = None) -> Any:
    """How well a template matches at every place of an image.

    As `skimage.feature.match_template`, with all of OpenCV's methods. The default one is the same,
    zero-normalised cross-correlation; of 8-bit and 16-bit images it is exact but for the rounding to float32.

    Parameters
    ----------
    image : array of shape (height, width), uint8, uint16 or float32
        Of NumPy, CuPy or PyTorch, or anything with DLPack or ``__cuda_array_interface__``. Crops and read-only
        arrays are read where they are.
    template : array of the image's type, no larger than the image
        With an image on a GPU: on the same one, or in host memory.
    method : str or int
        One of ``xcorr.METHODS``, or a constant of OpenCV's such as ``xcorr.TM_SQDIFF``.
    mask : array of uint8 or bool of the template's shape, optional
        The pixels where it is 0 do not count, in the template and everywhere in the image.
    pad_input : bool
        Pad the image with zeros, so that the result has its shape, and peaks lie at the templates' middles
        instead of their upper left corners.
    device : str, optional
        Where to work on images in host memory: ``"cpu"`` (the default), ``"cuda"``, ``"cuda:1"``. Images on a
        GPU are matched there.
    out : array of float32 of the result's shape, optional
        Where the result is written, in the image's memory.

    Returns
    -------
    array of float32
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
    Where a window or the template has no contrast the score is 0, as scikit-image's (OpenCV's may be 1).
    """
    number = method_number(method)
    place = place_of(image, "image", device)
    with place.current():
        pattern = place.picture(template, "template", MATCHED)
        frame = place.picture(image, "image", MATCHED)
        check_alike(frame, "image", pattern, "template")
        if pattern.height > frame.height or pattern.width > frame.width:
            raise ValueError(f"the template of shape {(pattern.height, pattern.width)} does not fit into the image "
                             f"of shape {(frame.height, frame.width)}")
        if pad_input:
            image = _padded(place, place.here(image), pattern)
            frame = place.picture(image, "image", MATCHED)
        shape = (frame.height - pattern.height + 1, frame.width - pattern.width + 1)
        if out is None:
            out = place.empty(shape, "f4")
        target = place.target(out)

        counts = None if mask is None else np.ascontiguousarray(host_array(mask))
        key = (place.device.ordinal, place.stream, frame.type, frame.height, frame.width, pattern.height,
               pattern.width, None if counts is None else (counts.shape, counts.dtype.str, counts.tobytes()))
        scorer = _scorers.take(key)
        if scorer is None:
            scorer = _Scorer(place.device, frame.type, (frame.height, frame.width), (pattern.height, pattern.width),
                             counts)
        scorer.score(frame, pattern, number, target, place.stream)
        _scorers.give(key, scorer)
    return out


def matchTemplate(image: Any, templ: Any, method: str | int, mask: Any = None) -> Any:
    """How well a template matches at every place of an image, with OpenCV's order of arguments.

    As `cv2.matchTemplate` of gray images: the same values, for 8-bit images exact, where OpenCV's have an error
    of some 1e-5. `match_template` describes the parameters and what is raised.

    Parameters
    ----------
    image, templ : arrays of shape (height, width), uint8, uint16 or float32
    method : int or str
        ``xcorr.TM_CCOEFF_NORMED``, which equals ``cv2.TM_CCOEFF_NORMED``, and so on, or a name.
    mask : array of uint8 or bool of the template's shape, optional
        The pixels where it is 0 do not count.

    Returns
    -------
    array of float32 of shape (height - templ height + 1, width - templ width + 1)
    """
    return match_template(image, templ, method, mask)


def correlate2d(a: Any, b: Any, mode: str = "full") -> Any:
    """Cross-correlate two matrices.

    As `scipy.signal.correlate2d` with zeros outside, but integers do not overflow.

    Parameters
    ----------
    a, b : arrays of shape (height, width) and of one type: uint8, uint16, int32, float32 or float64
        Both in host memory, or on one GPU, of CuPy or PyTorch.
    mode : {"full", "valid", "same"}
        All shifts at which the two overlap; those at which one lies wholly inside the other; or the middle part
        of all, of the shape of `a`.

    Returns
    -------
    array
        Of uint8 an exact sum in uint32 or, for more than 66,051 elements of `b`, uint64; of uint16 in uint64; of
        int32 in int64; others of their own type. An array of the library of `a`; work on a GPU is enqueued on its current stream.

    Raises
    ------
    TypeError
        Elements of other types, or different ones.
    ValueError
        For "valid": neither lies wholly inside the other.
    """
    if mode not in ("full", "valid", "same"):
        raise ValueError(f"no such mode: {mode!r}; there are 'full', 'valid' and 'same'")
    place = place_of(a, "a", None)
    with place.current():
        a, b = place.here(a), place.here(b)
        left, right = (place.picture(array, name, CORRELATED) for array, name in ((a, "a"), (b, "b")))
        check_alike(left, "a", right, "b")
        wider, higher = left.width - right.width, left.height - right.height
        if mode == "valid" and wider * higher < 0:
            raise ValueError("for mode 'valid' one of the arrays must be at least as large in both directions")
        shifts = {
            "full": (1 - right.width, 1 - right.height, left.width + right.width - 1, left.height + right.height - 1),
            "valid": (min(wider, 0), min(higher, 0), abs(wider) + 1, abs(higher) + 1),
            "same": (-((right.width - 1) // 2), -((right.height - 1) // 2), left.width, left.height),
        }[mode]
        plan = _xcorr.Correlator(place.device, left, right, shifts)
        out = place.empty((shifts[3], shifts[2]), plan.output_type)
        workspace = place.empty((1, plan.workspace_bytes), "u1")
        plan.run(left, right, place.pointer(out), place.pointer(workspace), place.stream)
    return out
