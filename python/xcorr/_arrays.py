# SPDX-License-Identifier: LGPL-2.1-or-later
"""Arrays of all libraries as images of the module's, without copies.

A *place* is where the arrays of a call are: host memory, or a GPU with the stream on which their library
works now. It makes images of arrays and allocates results like them:

=============  ==============================  =======================================  =================
arrays         are                             run on                                   results
=============  ==============================  =======================================  =================
``Host``       what ``numpy.asarray`` takes    the device that was asked for            NumPy's
``Torch``      PyTorch's on a GPU              its current stream, without waiting      PyTorch's
``CuPy``       CuPy's                          its current stream, without waiting      CuPy's
``OtherGpu``   of ``__cuda_array_interface__``  the stream that it names, or CUDA's      NumPy's
               or DLPack on a GPU              default one; waits
=============  ==============================  =======================================  =================
"""
from __future__ import annotations

import contextlib
import functools
import sys
from typing import Any, ContextManager, Iterable, Sequence

import numpy as np

from . import _devices, _xcorr
from ._elements import check_type, rows_are_dense

#: CUDA's handle of the default stream: with 0 the library would use one of its own.
_DEFAULT_STREAM = 1
_DLPACK_GPU = (2, 13)  # kDLCUDA, kDLCUDAManaged


def _check_target(shape: Sequence[int], strides: Sequence[int], item: int) -> None:
    if len(shape) == 2 and shape[0] * shape[1] > 1 and not rows_are_dense(shape, strides, item):
        raise ValueError("the elements of a row of out must be adjacent")


class Host:
    """Host memory, to be worked on by any device."""

    stream = 0

    def __init__(self, device: str = "cpu") -> None:
        self.device = _devices.open_device(device)

    def wait(self) -> None:
        """Until its arrays are what was enqueued for them."""

    def current(self) -> ContextManager[Any]:
        return contextlib.nullcontext()

    def image(self, array: Any, name: str, taken: Iterable[str], colours: str = "") -> _xcorr.Image:
        return host_image(array, name, taken, colours)

    def target(self, out: Any) -> _xcorr.Image:
        """Of an array that is written, which is therefore never copied."""
        if not isinstance(out, np.ndarray):
            raise TypeError("out must be an array of NumPy's")
        if not out.flags.writeable:
            raise ValueError("out is read-only")
        _check_target(out.shape, out.strides, out.itemsize)
        return self.image(out, "out", ("f4",))

    def empty(self, shape: tuple[int, int], code: str) -> Any:
        return np.empty(shape, code)

    def zeros(self, shape: tuple[int, int], like: Any) -> Any:
        return np.zeros(shape, like.dtype)

    def here(self, array: Any) -> Any:
        return host_array(array)

    def pointer(self, array: Any) -> int:
        return int(array.ctypes.data)

    def turned(self, array: Any) -> Any:
        """By 180 degrees."""
        return array[::-1, ::-1]


class _Gpu:
    """What Torch and CuPy have in common."""

    def __init__(self, ordinal: int, stream: int) -> None:
        self.device = _devices.open_device(f"cuda:{ordinal}")
        self.ordinal = ordinal
        self.stream = stream or _DEFAULT_STREAM

    def _check(self, ordinal: int, name: str) -> None:
        if ordinal != self.ordinal:
            raise ValueError(f"{name} is on cuda:{ordinal}, other arrays are on cuda:{self.ordinal}")

    def image(self, array: Any, name: str, taken: Iterable[str], colours: str = "") -> _xcorr.Image:
        kind = kind_of(array)
        if kind is Host:
            return host_image(array, name, taken, colours)
        if kind is not type(self):
            raise TypeError(f"{name} is not of the library that the other arrays are of")
        return self._image(array, name, taken, colours)

    def _image(self, array: Any, name: str, taken: Iterable[str], colours: str) -> _xcorr.Image:
        raise NotImplementedError

    def target(self, out: Any) -> _xcorr.Image:
        """Of an array that is written, which is therefore never copied."""
        if kind_of(out) is not type(self):
            raise TypeError("out must be an array of the image's library, on its GPU")
        _check_target(tuple(out.shape), self._strides(out), 4)
        return self._image(out, "out", ("f4",), "")

    def _strides(self, array: Any) -> tuple[int, ...]:
        raise NotImplementedError


def _torch_codes() -> dict[Any, str]:
    torch = sys.modules["torch"]
    codes = {torch.uint8: "u1", torch.bool: "b1", torch.int32: "i4", torch.int64: "i8", torch.float32: "f4",
             torch.float64: "f8"}
    if hasattr(torch, "uint16"):  # PyTorch 2.3
        codes[torch.uint16] = "u2"
    return codes


class Torch(_Gpu):
    _codes: dict[Any, str] = {}
    _types: dict[str, Any] = {}

    def __init__(self, array: Any) -> None:
        self._torch: Any = sys.modules["torch"]
        if not Torch._codes:
            Torch._codes = _torch_codes()
            Torch._types = {code: type_ for type_, code in Torch._codes.items()}
            Torch._types |= {"u4": getattr(self._torch, "uint32", None), "u8": getattr(self._torch, "uint64", None)}
        self._place = array.device
        super().__init__(self._place.index, self._torch.cuda.current_stream(self._place).cuda_stream)

    def wait(self) -> None:
        self._torch.cuda.current_stream(self._place).synchronize()

    def current(self) -> ContextManager[Any]:
        same = self._torch.cuda.current_device() == self.ordinal
        context: ContextManager[Any] = contextlib.nullcontext() if same else self._torch.cuda.device(self.ordinal)
        return context

    def _image(self, array: Any, name: str, taken: Iterable[str], colours: str) -> _xcorr.Image:
        self._check(array.device.index, name)
        code = self._codes.get(array.dtype, str(array.dtype))
        check_type(code, taken, name)
        shape, strides = tuple(array.shape), self._strides(array)
        if not rows_are_dense(shape, strides, array.element_size()):
            array = array.contiguous()
            strides = self._strides(array)
        return _xcorr.Image(array, array.data_ptr(), shape, strides[0] if strides else 0, code, self.ordinal, name,
                              colours)

    def _strides(self, array: Any) -> tuple[int, ...]:
        item = array.element_size()
        return tuple(item * stride for stride in array.stride())

    def empty(self, shape: tuple[int, int], code: str) -> Any:
        if self._types[code] is None:
            raise TypeError(f"this PyTorch has no {np.dtype(code)}")
        return self._torch.empty(shape, dtype=self._types[code], device=self._place)

    def zeros(self, shape: tuple[int, int], like: Any) -> Any:
        return self._torch.zeros(shape, dtype=like.dtype, device=self._place)

    def turned(self, array: Any) -> Any:
        return self._torch.flip(array, (0, 1))

    def here(self, array: Any) -> Any:
        return self._torch.as_tensor(array, device=self._place) if kind_of(array) is Host else array

    def pointer(self, array: Any) -> int:
        return int(array.data_ptr())


class CuPy(_Gpu):
    def __init__(self, array: Any) -> None:
        self._cupy: Any = sys.modules["cupy"]
        ordinal = array.data.device_id  # array.device makes an object
        super().__init__(ordinal, self._cupy.cuda.get_current_stream(ordinal).ptr)

    def wait(self) -> None:
        self._cupy.cuda.get_current_stream(self.ordinal).synchronize()

    def current(self) -> ContextManager[Any]:
        same = self._cupy.cuda.runtime.getDevice() == self.ordinal
        context: ContextManager[Any] = contextlib.nullcontext() if same else self._cupy.cuda.Device(self.ordinal)
        return context

    def _image(self, array: Any, name: str, taken: Iterable[str], colours: str) -> _xcorr.Image:
        data = array.data
        self._check(data.device_id, name)
        code = _code_of(array.dtype)
        check_type(code, taken, name)
        shape, strides = array.shape, array.strides
        if not rows_are_dense(shape, strides, array.itemsize):
            array = array.copy(order="C")  # that of one row, too, which CuPy calls contiguous whatever its strides
            data, strides = array.data, array.strides
        return _xcorr.Image(array, data.ptr, shape, strides[0] if strides else 0, code, self.ordinal, name, colours)

    def _strides(self, array: Any) -> tuple[int, ...]:
        return tuple(array.strides)

    def empty(self, shape: tuple[int, int], code: str) -> Any:
        return self._cupy.empty(shape, code)

    def zeros(self, shape: tuple[int, int], like: Any) -> Any:
        return self._cupy.zeros(shape, like.dtype)

    def turned(self, array: Any) -> Any:
        return array[::-1, ::-1]

    def here(self, array: Any) -> Any:
        return self._cupy.asarray(array)

    def pointer(self, array: Any) -> int:
        return int(array.data.ptr)


class OtherGpu(Host):
    """Arrays on a GPU of any other library: read where they are, results in host memory."""

    def __init__(self, array: Any) -> None:
        interface = getattr(array, "__cuda_array_interface__", None)
        self.stream = (interface or {}).get("stream") or _DEFAULT_STREAM
        # The interface does not say on which GPU: any.
        says = hasattr(array, "__dlpack_device__")
        super().__init__(f"cuda:{array.__dlpack_device__()[1]}" if says else "cuda")

    def image(self, array: Any, name: str, taken: Iterable[str], colours: str = "") -> _xcorr.Image:
        if kind_of(array) is Host:
            return host_image(array, name, taken, colours)
        interface = getattr(array, "__cuda_array_interface__", None)
        if interface is None:
            image = _xcorr.Image(array.__dlpack__(stream=self.stream), name, colours)
            check_type(image.type, taken, name)
            return image
        if interface.get("mask") is not None:
            raise TypeError(f"{name} has a mask of its own")
        code, shape = interface["typestr"][1:], tuple(interface["shape"])
        check_type(code, taken, name)
        item = np.dtype(code).itemsize
        strides = interface.get("strides")
        if strides is None:
            strides = tuple(item * int(np.prod(shape[axis + 1:])) for axis in range(len(shape)))
        if not rows_are_dense(shape, strides, item):
            raise ValueError(f"{name} has rows whose elements are not adjacent; make a dense copy")
        return _xcorr.Image(array, interface["data"][0], shape, strides[0], code, self.device.ordinal, name, colours)

    def wait(self) -> None:
        self.here(None)

    def zeros(self, shape: tuple[int, int], like: Any) -> Any:
        return self.here(like)

    def here(self, array: Any) -> Any:
        raise TypeError("this needs arrays of NumPy, CuPy or PyTorch")


@functools.cache
def _code_of(type_: np.dtype) -> str:
    return type_.str[1:]


@functools.cache
def _library_of(type_: type) -> str:
    return type_.__module__.partition(".")[0]


def kind_of(array: Any) -> type:
    """The class of the place where the array is."""
    if type(array) is np.ndarray:
        return Host
    library = _library_of(array.__class__)
    if library == "torch":
        return Torch if array.is_cuda else Host
    if library == "cupy":
        return CuPy
    if getattr(array, "__cuda_array_interface__", None) is not None:
        return OtherGpu
    if hasattr(array, "__dlpack_device__") and array.__dlpack_device__()[0] in _DLPACK_GPU:
        return OtherGpu
    return Host


def place_of(array: Any, name: str, device: str | None) -> Any:
    """The place of an array. `device`: where to work on arrays in host memory, the CPU unless given."""
    kind = kind_of(array)
    if kind is Host:
        return Host(device or "cpu")
    place = kind(array)
    if device not in (None, "auto", "cuda", _devices.name_of(place.device)):
        raise ValueError(f"{name} is on {_devices.name_of(place.device)}, which {device!r} is not")
    return place


def host_array(array: Any, name: str = "an array") -> np.ndarray:
    """As an array of NumPy's in host memory, without a copy if it is there."""
    if type(array) is np.ndarray:
        return array
    if array is None:
        raise TypeError(f"{name} is None, which is what cv2.imread returns for a file that it cannot read")
    if getattr(array, "mode", None) in ("P", "PA"):
        raise TypeError(f"{name} is an image of indices into a palette; convert('L') makes gray of it")
    kind = kind_of(array)
    if kind is Torch:
        array = array.detach().cpu()
    if kind is CuPy:
        array = array.get()
    if kind is OtherGpu:
        raise TypeError(f"{name} must be in host memory, or of CuPy or PyTorch")
    if isinstance(array, np.ma.MaskedArray):
        if np.ma.is_masked(array):
            raise ValueError(f"{name} has masked elements, which nothing here leaves out; fill them, or hand over a "
                             "mask")
        return np.asarray(array.data)
    if hasattr(array, "detach"):
        array = array.detach()
    if hasattr(array, "__dlpack__") and not hasattr(array, "__array__"):
        return np.from_dlpack(array)
    try:
        made = np.asarray(array)
    except ValueError as error:  # rows of different lengths
        raise ValueError(f"{name} is a {type(array).__name__}, of which NumPy makes no array: {error}") from None
    if made.ndim == 0 and made.dtype.kind in "OSU":
        raise TypeError(f"{name} is a {type(array).__name__}, no array of pixels; a file must be read first")
    return made


def host_image(array: Any, name: str, taken: Iterable[str], colours: str = "") -> _xcorr.Image:
    """Of an array in host memory."""
    array = host_array(array, name)
    check_type(array.dtype.str[1:], taken, name)
    dense = (array.flags.c_contiguous if colours == "planes"
             else rows_are_dense(array.shape, array.strides, array.itemsize))
    if not array.dtype.isnative or not dense:
        # NumPy calls an array of one row or element contiguous whatever its strides are; a copy has those that it must.
        array = np.array(array, array.dtype.newbyteorder("="), order="C")
    return _xcorr.Image(array, name, colours)
