# SPDX-License-Identifier: LGPL-2.1-or-later
"""Stacks: a folder of images, or the pages of a TIFF file. Pillow and tifffile read them."""
from __future__ import annotations

import contextlib
import logging
import pathlib
import re
from typing import TYPE_CHECKING, Any, Iterator

import numpy

from .._gstreamer import Gst
from .._missing import need

if TYPE_CHECKING:
    from .units import Unit

TIFF = {".tif", ".tiff"}
IMAGES = TIFF | {".bmp", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".webp"}
HOW = "pip install 'xcorr[stacks]', or {0} itself"


def is_stack(file: str | pathlib.Path) -> bool:
    path = pathlib.Path(file)
    return path.is_dir() or path.suffix.lower() in TIFF


def files_of(folder: str | pathlib.Path) -> list[pathlib.Path]:
    """Its images, in the order of the numbers in their names."""
    found = [path for path in pathlib.Path(folder).iterdir() if path.suffix.lower() in IMAGES]
    if not found:
        raise ValueError("there are no images in it")
    return sorted(found, key=lambda path: [(not part.isdigit(), int(part) if part.isdigit() else part)
                                           for part in re.split(r"(\d+)", path.name) if part])


class Errors(logging.Handler):
    """What tifffile only logs: pages that are missing."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


@contextlib.contextmanager
def tiff(path: str | pathlib.Path) -> Iterator[Any]:
    tifffile = need("tifffile", "tifffile", HOW.format("tifffile"))
    logger, errors = logging.getLogger("tifffile"), Errors()
    logger.addHandler(errors)
    try:
        with tifffile.TiffFile(path) as file:
            yield file
        if errors.said:
            raise ValueError(errors.said[0])
    finally:
        logger.removeHandler(errors)


@contextlib.contextmanager
def named(path: str | pathlib.Path) -> Iterator[None]:
    """What is wrong with a file, whatever its reader raises, with its path."""
    try:
        yield
    except ImportError:
        raise
    except Exception as error:
        raise ValueError(f"{path}: {error}") from None


def length(stack: str | pathlib.Path) -> int:
    """How many images there are."""
    if pathlib.Path(stack).is_dir():
        return len(files_of(stack))
    with named(stack), tiff(stack) as file:
        if len(file.series) != 1:
            raise ValueError("its pages are not of one shape")
        return len(file.series[0])


def images(stack: str | pathlib.Path, first: int, last: int) -> Iterator[numpy.ndarray]:
    """Those from one to before another, as arrays."""
    if pathlib.Path(stack).is_dir():
        for path in files_of(stack)[first:last]:
            with named(path):
                yield image_of(path)
        return
    with named(stack), tiff(stack) as file:
        for number in range(first, last):
            yield file.series[0][number].asarray()


def image_of(path: pathlib.Path) -> numpy.ndarray:
    if path.suffix.lower() in TIFF:
        with tiff(path) as file:
            return file.asarray()
    with need("PIL.Image", "Pillow", HOW.format("pillow")).open(path) as opened:
        if opened.mode.startswith("I"):
            return numpy.asarray(opened).astype("u2")  # Pillow has 16 bits as 32
        return numpy.asarray(opened if opened.mode == "L" else opened.convert("RGB"))


def to_bytes(image: numpy.ndarray, white: int) -> numpy.ndarray:
    """An image of 8 bits: of 16, 0 to `white` become 0 to 255, rounded, and what is brighter 255."""
    if image.dtype == "u1":
        return image
    if (image.dtype.kind, image.dtype.itemsize) != ("u", 2):
        raise ValueError(f"pixels of type {image.dtype}; uint8 and uint16 are taken")
    scaled = (image.clip(max=white).astype("u4") * 255 + white // 2) // white
    return scaled.astype("u1")


def caps_of(image: numpy.ndarray) -> str:
    shape = image.shape
    if len(shape) == 3 and shape[2] in (3, 4):
        format_ = "RGB" if shape[2] == 3 else "RGBA"
    elif len(shape) == 2:
        format_ = "GRAY8"
    else:
        raise ValueError(f"an image of shape {shape}; (height, width) and (height, width, 3 or 4) are taken")
    return f"video/x-raw,format={format_},width={shape[1]},height={shape[0]},framerate=1/1"


def push(pipeline: Any, unit: Unit) -> None:
    """The images of a unit into the element `source` of a pipeline that plays, and the end of the stream."""
    source = pipeline.get_by_name("source")
    caps = None
    for time, image in zip(unit.times, images(unit.file, unit.first, unit.last)):
        image = to_bytes(image, unit.search.white)
        if caps is None:
            caps = caps_of(image)
            source.set_property("caps", Gst.Caps.from_string(caps))
        elif caps_of(image) != caps:
            raise ValueError(f"image {time // Gst.SECOND} has another size or other channels than those before it")
        buffer = Gst.Buffer.new_wrapped(rows_of_four(image).tobytes())
        buffer.pts, buffer.duration = time, Gst.SECOND
        if source.emit("push-buffer", buffer) != Gst.FlowReturn.OK:
            break  # who waits for the end is told why
    source.emit("end-of-stream")


def rows_of_four(image: numpy.ndarray) -> numpy.ndarray:
    """With rows of a multiple of four bytes, as GStreamer has them."""
    rows = image.reshape(image.shape[0], -1)
    return numpy.pad(rows, ((0, 0), (0, -rows.shape[1] % 4)))
