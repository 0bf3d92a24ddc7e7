#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Frames of 8 bits that matches are timed on, by what is on them.

    images.py FOLDER      writes them as FOLDER/photographs.pgm and so on, of 1920x1080 pixels

    photographs  a collage of the photographs in docs/images, at their own size, each as it is and mirrored; in colour,
                 as far as these are (two of four), in FOLDER/colors.ppm
    video        one of them, enlarged until it fills the frame: smooth, so that many windows look alike
    noise        random bytes: almost no window resembles a template

The first two have a camera's noise. A frame larger than the collage can be has it enlarged twice. No part of an image
is there twice. Photographs are read by OpenCV or Pillow, whichever is there.
"""
import functools
import pathlib
import sys

import numpy as np

SEED = 1
GRAIN = 2  # gray levels
PHOTOGRAPHS = pathlib.Path(__file__).resolve().parent.parent / 'docs/images'
BAND = 135  # rows of a photograph that lie side by side in the collage


def read_gray(path):
    """height x width bytes."""
    try:
        import cv2  # pylint: disable=import-outside-toplevel
        return cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
    except ImportError:
        import PIL.Image  # pylint: disable=import-outside-toplevel
        return np.asarray(PIL.Image.open(path).convert('L'))


def read_rgb(path):
    """height x width x 3 bytes."""
    try:
        import cv2  # pylint: disable=import-outside-toplevel
        return cv2.imread(str(path), cv2.IMREAD_COLOR)[..., ::-1]
    except ImportError:
        import PIL.Image  # pylint: disable=import-outside-toplevel
        return np.asarray(PIL.Image.open(path).convert('RGB'))


def _stretched(values, factor, length):
    """Along the first axis, `factor` times as long by linear interpolation, the first `length` of it."""
    at = np.minimum(np.arange(length) / factor, len(values) - 1)
    low = np.minimum(at.astype(int), len(values) - 2)
    part = (at - low).reshape(-1, *[1] * (values.ndim - 1))
    return values[low] * (1 - part) + values[low + 1] * part


def enlarged(image, factor, width, height):
    return np.swapaxes(_stretched(np.swapaxes(_stretched(image, factor, height), 0, 1), factor, width), 0, 1)


def grained(image):
    noise = GRAIN * np.random.default_rng(SEED).standard_normal(image.shape)
    return np.clip(np.rint(image + noise), 0, 255).astype(np.uint8)


@functools.lru_cache(maxsize=2)
def _bands(read):
    """Side by side: of all photographs all bands, in four mirror images."""
    whole = [read(PHOTOGRAPHS / f'{name}.jpg') for name in ('astronaut', 'gravel', 'rocket', 'brick')]
    cut = [image[top:top + BAND] for image in whole for top in range(0, len(image) - BAND + 1, BAND)]
    return np.hstack([band[::down, ::across] for down in (1, -1) for across in (1, -1) for band in cut])


def collage(width, height, read=read_gray):
    bands, rows = _bands(read), -(-height // BAND)
    if rows * width > bands.shape[1]:
        return enlarged(collage(-(-width // 2), -(-height // 2), read), 2, width, height)
    return np.vstack([bands[:, row * width:(row + 1) * width] for row in range(rows)])[:height]


def photographs(width, height):
    return grained(collage(width, height))


def colors(width, height):
    return grained(collage(width, height, read_rgb))


def video(width, height):
    image = read_gray(PHOTOGRAPHS / 'rocket.jpg')
    factor = max(2, width / image.shape[1], height / image.shape[0])
    top, left = (max(0, int((length - part / factor) / 2)) for length, part in zip(image.shape, (height, width)))
    return grained(enlarged(image[top:, left:], factor, width, height))


def noise(width, height):
    return np.random.default_rng(SEED).integers(0, 256, (height, width), np.uint8)


CONTENTS = {made.__name__: made for made in (photographs, video, noise)}


@functools.lru_cache(maxsize=4)
def frame(content, width, height):
    return CONTENTS[content](width, height)


def write_pnm(path, pixels):
    """Binary PGM of a gray frame, PPM of one in colour."""
    height, width = pixels.shape[:2]
    kind = b'P6' if pixels.ndim == 3 else b'P5'
    pathlib.Path(path).write_bytes(kind + b'\n%d %d\n255\n' % (width, height) + pixels.tobytes())


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for content in CONTENTS:
        write_pnm(pathlib.Path(sys.argv[1], f'{content}.pgm'), frame(content, 1920, 1080))
    write_pnm(pathlib.Path(sys.argv[1], 'colors.ppm'), colors(1920, 1080))
