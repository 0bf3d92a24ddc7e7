# SPDX-License-Identifier: LGPL-2.1-or-later
"""Images from files, folders and videos, as gray arrays of uint8, uint16 or float32. Pillow and OpenCV read them."""
from __future__ import annotations

import contextlib
import csv
import importlib
import pathlib
import sys
from typing import Any, Callable, Iterator

import numpy as np

from ..command.progress import beside_the_bar

#: As the element has them.
SUFFIXES = {".bmp", ".gif", ".jpeg", ".jpg", ".pbm", ".pgm", ".png", ".pnm", ".ppm", ".tif", ".tiff", ".webp"}

#: Twice 16384x16384. A damaged header may say anything, and memory would be taken for it.
MOST_PIXELS = 1 << 29


class Unreadable(Exception):
    """An image, or something else that is named, cannot be read or written."""


def say(what: object) -> None:
    with beside_the_bar():
        print(f"xcorr: {what}", file=sys.stderr)


def named(what: object, error: Exception) -> str:
    """What cannot be read or written, and why."""
    return f"{what}: {getattr(error, 'strerror', None) or str(error) or type(error).__name__}"


def library(name: str, purpose: str, package: str) -> Any:
    """A library that only some users need."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise Unreadable(f"{purpose} needs {name.partition('.')[0]}: pip install {package}") from None


def to_gray(pixels: np.ndarray) -> np.ndarray:
    """uint8, uint16, or float32 for all that these cannot hold."""
    if pixels.dtype in (np.uint8, np.uint16):
        return pixels
    if pixels.dtype == bool:
        return pixels.astype(np.uint8)
    if pixels.dtype.kind in "iu" and pixels.min() >= 0 and pixels.max() <= 65535:
        return pixels.astype(np.uint16)  # as Pillow has 16 bits
    return pixels.astype(np.float32)


@contextlib.contextmanager
def _without_pillows_limit(pillow: Any) -> Iterator[None]:
    """Which is of the process, and less than the images that can be measured."""
    limit, pillow.MAX_IMAGE_PIXELS = pillow.MAX_IMAGE_PIXELS, None
    try:
        yield
    finally:
        pillow.MAX_IMAGE_PIXELS = limit


def read_image(path: pathlib.Path, in_color: bool = False) -> np.ndarray:
    """The luma of an image, or its red, green and blue as bytes. Raises Unreadable."""
    pillow = library("PIL.Image", "reading images", "pillow")
    try:
        with _without_pillows_limit(pillow), pillow.open(path) as image:
            if image.width * image.height > MOST_PIXELS:
                raise Unreadable(f"it has {image.width}x{image.height} pixels, more than {MOST_PIXELS}")
            if in_color:
                return np.asarray(image.convert("RGB"))
            gray = image.mode in ("1", "L", "I", "F") or image.mode.startswith("I;16")
            return to_gray(np.asarray(image if gray else image.convert("L")))
    except Exception as error:  # decoders raise all kinds of them for damaged files
        raise Unreadable(named(path, error)) from None


def read_places(path: pathlib.Path) -> np.ndarray:
    """Columns x and y of a CSV, its first two where its first line has no names. Raises Unreadable."""
    with open(path, newline="", encoding="utf-8-sig") as file:  # as spreadsheets begin it
        lines = [line for line in csv.reader(file) if line]
    across, down = 0, 1
    if lines and not _is_number(lines[0][0]):
        names = [name.strip() for name in lines.pop(0)]
        if "x" not in names or "y" not in names:
            raise Unreadable(f"{path}: no columns x and y")
        across, down = names.index("x"), names.index("y")
    places = []
    for number, line in enumerate(lines):
        try:
            places.append((float(line[across]), float(line[down])))
        except (ValueError, IndexError):
            raise Unreadable(f"{path}: place {number + 1} is no x and y: {','.join(line)}") from None
    if not places:
        raise Unreadable(f"{path}: no places")
    return np.array(places, np.float32)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class Series:
    """Images one after another."""

    def __init__(self, name: str, count: int | None, images: Callable[[], Iterator[tuple[str, Any]]]) -> None:
        self.name = name
        self.count = count  #: of the images, of a video as its header says; None: not known
        self._images = images

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """Names, and the images or what is wrong with them, an `Unreadable`."""
        return self._images()


def of_files(paths: list[pathlib.Path], in_color: bool = False) -> Series:
    def images() -> Iterator[tuple[str, Any]]:
        for path in paths:
            try:
                yield path.name, read_image(path, in_color)
            except Unreadable as error:
                yield path.name, error
    return Series("", len(paths), images)


def of_video(path: pathlib.Path | int, in_color: bool = False) -> Series:
    """Frames of a file, or of the camera of that number."""
    cv2 = library("cv2", "reading videos", "opencv-python-headless")
    video = cv2.VideoCapture(path if isinstance(path, int) else str(path))
    name = f"camera {path}" if isinstance(path, int) else path.name
    if not video.isOpened():
        raise Unreadable(f"{name}: OpenCV cannot open it" if isinstance(path, int) else
                         f"{path}: no image, and no video that OpenCV can read")
    count = int(video.get(cv2.CAP_PROP_FRAME_COUNT))

    def images() -> Iterator[tuple[str, Any]]:
        number = 0
        while True:
            there, frame = video.read()
            if not there:
                return
            yield f"{name} {number}", cv2.cvtColor(frame, cv2.COLOR_BGR2RGB if in_color else cv2.COLOR_BGR2GRAY)
            number += 1
    return Series(str(path), count if count > 0 else None, images)


def in_folder(folder: pathlib.Path) -> list[pathlib.Path]:
    """Hidden ones are left alone: other systems write such files of their own beside images."""
    return sorted(path for path in folder.iterdir()
                  if path.suffix.lower() in SUFFIXES and not path.name.startswith("."))


def open_series(inputs: list[str]) -> Series:
    """Of images, or of one folder or video. Raises Unreadable."""
    paths = [pathlib.Path(each) for each in inputs]
    for path in paths:
        if not path.exists():
            raise Unreadable(f"{path}: there is no such file")
    if len(paths) > 1:
        return of_files(paths)
    if paths[0].is_dir():
        return of_files(in_folder(paths[0]))
    if paths[0].suffix.lower() in SUFFIXES:
        raise Unreadable(f"{paths[0]}: one image has nothing to be compared with")
    return of_video(paths[0])
