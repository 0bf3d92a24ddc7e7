#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A tray of parts, as a camera above it sees it, for docs/poses.md: parts.py FOLDER FIND_PARTS

    parts.jpg        clamps at any angle, their mirror images, washers
    part.png         a clamp from another image, transparent but for it and a rim of the ground, which is darker
    parts-found.jpg  what the example FIND_PARTS finds; ends with status 1 unless that is every clamp and nothing else

Everything is drawn here. Light comes from one side, so a clamp that is turned looks different from one that is not.
Needs NumPy and the built elements: GST_PLUGIN_PATH_1_0=$PWD/build/plugin
docs/images/parts.py docs/images build/examples/find-parts
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

from make import launch, write_image

ACROSS = 4  # samples along a side of a pixel
SIZE = (960, 600)
RANDOM = np.random.default_rng(4)
LIGHT = np.array([-0.5, -0.6, 0.62])
BEVEL = 4.0  # pixels from the rim to full height
PART = 96  # of part.png, pixels along a side
RIM = 5.0  # pixels of the ground that its mask leaves
# x, y, degrees
CLAMPS = [(110, 110, 0), (300, 95, 37), (500, 120, 128), (720, 100, 201), (870, 180, 294), (130, 300, 75),
          (345, 290, 250), (620, 300, 330), (850, 390, 160), (160, 490, 222), (420, 500, 16), (700, 500, 98)]
MIRRORED = [(500, 300, 60), (275, 400, 310), (560, 440, 180)]
WASHERS = [(215, 200), (410, 195), (610, 195), (780, 270), (45, 400), (280, 540), (545, 545), (880, 520),
           (915, 70)]


def clamp(u, v):
    """How deep inside a clamp a place is, in pixels; negative outside. Its axes are right and down."""
    def box(left, top, right, bottom):
        return np.minimum(np.minimum(u - left, right - u), np.minimum(v - top, bottom - v))

    def disc(x, y, radius):
        return radius - np.hypot(u - x, v - y)

    solid = np.maximum.reduce([box(-34, 8, 34, 26), box(-34, -30, -16, 26), disc(34, 17, 9), disc(-25, -30, 9),
                               box(10, -6, 24, 12)])
    return np.minimum(solid, -np.maximum.reduce([disc(-25, -28, 4), disc(30, 17, 4), disc(-25, 17, 5)]))


def washer(u, v):
    distance = np.hypot(u, v)
    return np.minimum(17 - distance, distance - 8)


def ground(width, height):
    """Worn sheet metal: scratches, stains, noise."""
    def blurred(image, radius):
        for axis in (0, 1):
            rims = [(radius, radius) if axis == each else (0, 0) for each in (0, 1)]
            sums = np.cumsum(np.pad(image, rims, 'wrap'), axis)
            image = (np.take(sums, range(2 * radius, sums.shape[axis]), axis) -
                       np.take(sums, range(sums.shape[axis] - 2 * radius), axis)) / (2 * radius)
        return image

    stains = sum(weight * blurred(blurred(RANDOM.normal(0, radius, (height, width)), radius), radius)
                 for radius, weight in ((4, 4), (16, 8), (48, 14)))
    scratches = np.repeat(RANDOM.normal(0, 3, (height, 1)), width, 1) + RANDOM.normal(0, 1.5, (height, width))
    return 72 + stains + scratches


def places(width, height):
    steps = (np.arange(ACROSS) + 0.5) / ACROSS - 0.5
    x = (np.arange(width)[:, None] + steps).ravel()
    y = (np.arange(height)[:, None] + steps).ravel()
    return np.meshgrid(x, y)


def means(samples):
    height, width = (length // ACROSS for length in samples.shape)
    return samples.reshape(height, ACROSS, width, ACROSS).mean((1, 3))


def put(image, shape, x, y, angle, mirrored=False):
    """Draws one and its shadow."""
    height, width = image.shape
    right, down = places(width, height)
    cosine, sine = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))

    def depth(dx, dy):
        a, b = right - x - dx, down - y - dy
        u, v = cosine * a - sine * b, sine * a + cosine * b
        return shape(-u if mirrored else u, v)

    inside = depth(0, 0)
    rises = np.clip(inside, 0, BEVEL)
    slope_y, slope_x = np.gradient(rises, 1 / ACROSS)
    normal = np.stack([-slope_x, -slope_y, np.ones_like(rises)])
    facing = np.tensordot(LIGHT, normal / np.linalg.norm(normal, axis=0), 1)
    covers = means((inside > 0).astype(float))
    shadow = means(np.clip(depth(1.5, 2) / 4 + 0.4, 0, 1))
    image *= 1 - 0.5 * shadow * (1 - covers)
    bright = means(np.where(inside > 0, 135 + 70 * np.clip(facing, 0, 1), 0))
    image[:] = (1 - covers) * image + bright + covers * RANDOM.normal(0, 3, image.shape)


def window(image, x, y, reach=60):
    """A part of it round a place, and that place in it."""
    left, top = max(int(x) - reach, 0), max(int(y) - reach, 0)
    return image[top:int(y) + reach, left:int(x) + reach], x - left, y - top


def tray():
    image = ground(*SIZE)
    for shape, poses, mirrored in ((washer, [(*place, 0) for place in WASHERS], False), (clamp, MIRRORED, True),
                                   (clamp, CLAMPS, False)):
        for x, y, angle in poses:
            part, u, v = window(image, x, y)
            put(part, shape, u, v, angle, mirrored)
    return image + RANDOM.normal(0, 1.5, image.shape)


def to_rgb(image):
    return np.repeat(np.clip(np.rint(image), 0, 255).astype(np.uint8)[..., None], 3, 2)


def write_part(path, folder):
    """With alpha, as an image editor would leave it."""
    image = ground(PART, PART)
    middle = (PART - 1) / 2
    put(image, clamp, middle, middle, 0)
    y, x = np.mgrid[-middle:middle + 1, -middle:middle + 1]
    pixels = np.dstack([to_rgb(image), np.where(clamp(x, y) > -RIM, 255, 0).astype(np.uint8)])
    pixels.tofile(folder / 'part.rgba')
    launch(f"filesrc location=part.rgba ! rawvideoparse format=rgba width={PART} height={PART} ! pngenc ! "
           f"filesink location='{path.resolve()}'", folder)


def check(printed, parts, reach):
    """Each part, x, y and degrees, was found once, within so many pixels, and nothing else."""
    found = [tuple(map(float, each)) for each in re.findall(r'x=(\S+) y=(\S+) angle=(\S+)', printed)]
    for x, y, angle in parts:
        near = [each for each in found
                if np.hypot(each[0] - x, each[1] - y) < reach and abs((each[2] - angle + 180) % 360 - 180) < 0.5]
        assert len(near) == 1, (x, y, angle, printed)
    assert len(found) == len(parts), printed


def draw_found(find_parts, image, part, parts, reach, found, encoder, folder):
    """What the example finds, checked, as an image."""
    check(subprocess.run([find_parts.resolve(), f'--output={folder}/found.png', image, part],
                         check=True, text=True, stdout=subprocess.PIPE).stdout, parts, reach)
    launch(f"filesrc location=found.png ! decodebin ! videoconvert ! {encoder} ! filesink location='{found.resolve()}'",
           folder)


def main():
    output, find_parts = map(pathlib.Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_image(to_rgb(tray()), output / 'parts.jpg', 'jpegenc quality=75', folder)
        write_part(output / 'part.png', folder)
        draw_found(find_parts, output / 'parts.jpg', output / 'part.png',
                   CLAMPS, 2,  # light and shadows come from one side whatever the angle
                   output / 'parts-found.jpg', 'jpegenc quality=62', folder)


if __name__ == '__main__':
    main()
