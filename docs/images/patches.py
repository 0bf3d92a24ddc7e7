#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Patches of a space suit on gravel, all photographed, for docs/poses.md: patches.py FOLDER FIND_PARTS

    patches.jpg        the patch of patch.png at any angle, and its mirror image, on the gravel of gravel.jpg
    patches-found.jpg  what the example FIND_PARTS finds; ends with status 1 unless that is every patch and nothing else

Each pixel is the mean of 4 x 4 samples, so the patches are known to lie where they are put. Needs NumPy and the built
elements: GST_PLUGIN_PATH_1_0=$PWD/build/plugin docs/images/patches.py docs/images build/examples/find-parts
"""
import pathlib
import sys
import tempfile

import numpy as np

from make import launch, photograph, write_image
from parts import ACROSS, RANDOM, draw_found, places

IMAGES = pathlib.Path(__file__).resolve().parent
SIZE = (512, 400)
PATCH = 72  # of patch.png, pixels along a side
PATCHES = [(70, 60, 0), (200, 75, 25), (340, 60, 118), (450, 120, 240), (80, 190, 305), (230, 210, 160), (390, 250, 73),
           (110, 330, 200), (280, 340, 340)]  # x, y, degrees
MIRRORED = [(450, 350, 40), (310, 150, 250)]


def patch(folder):
    """Its pixels, height x width x 4, the last one 1 where it is."""
    launch(f"filesrc location='{IMAGES / 'patch.png'}' ! decodebin ! videoconvert ! video/x-raw,format=RGBA ! "
           'filesink location=patch.rgba', folder)
    pixels = np.fromfile(folder / 'patch.rgba', np.uint8).reshape(PATCH, PATCH, 4).astype(float)
    pixels[..., 3] /= 255
    return pixels


def read(pixels, u, v):
    """The pixels at coordinates, bilinearly; nothing is outside."""
    left, top = np.floor(u).astype(int), np.floor(v).astype(int)
    inside = (left >= 0) & (top >= 0) & (left < PATCH - 1) & (top < PATCH - 1)
    left, top = np.where(inside, left, 0), np.where(inside, top, 0)
    across, down = (u - left)[..., None], (v - top)[..., None]
    upper = (1 - across) * pixels[top, left] + across * pixels[top, left + 1]
    lower = (1 - across) * pixels[top + 1, left] + across * pixels[top + 1, left + 1]
    return np.where(inside[..., None], (1 - down) * upper + down * lower, 0)


def put(image, pixels, x, y, angle, mirrored=False):
    reach = PATCH * 3 // 4
    left, top = x - reach, y - reach
    right, down = places(2 * reach, 2 * reach)
    cosine, sine = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))
    a, b = right - reach, down - reach
    u, v = cosine * a - sine * b, sine * a + cosine * b
    middle = (PATCH - 1) / 2
    samples = read(pixels, (-u if mirrored else u) + middle, v + middle)
    samples[..., :3] *= samples[..., 3:]
    means = samples.reshape(2 * reach, ACROSS, 2 * reach, ACROSS, 4).mean((1, 3))
    rows, columns = (slice(max(0, -first), min(2 * reach, length - first))
                     for first, length in ((top, SIZE[1]), (left, SIZE[0])))
    means = means[rows, columns]
    under = image[top + rows.start:top + rows.stop, left + columns.start:left + columns.stop]
    under *= 1 - means[..., 3:]
    under += means[..., :3]


def scene(folder):
    image = photograph(IMAGES / 'gravel.jpg', (512, 512), folder)[:SIZE[1]].astype(float)
    pixels = patch(folder)
    for x, y, angle in PATCHES:
        put(image, pixels, x, y, angle)
    for x, y, angle in MIRRORED:
        put(image, pixels, x, y, angle, mirrored=True)
    return np.clip(np.rint(image + RANDOM.normal(0, 3, image.shape)), 0, 255).astype(np.uint8)


def main():
    output, find_parts = map(pathlib.Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_image(scene(folder), output / 'patches.jpg', 'jpegenc quality=80', folder)
        draw_found(find_parts, output / 'patches.jpg', IMAGES / 'patch.png', PATCHES, 0.2, output / 'patches-found.jpg',
                   'jpegenc quality=75', folder)


if __name__ == '__main__':
    main()
