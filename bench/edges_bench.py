#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""How much of a template may be hidden, badly lit, inverted or faint, matched on luma and on edges.

Patches of 64 x 64 of photographs are pasted into others, with noise of 4 gray levels, and searched upright: the share
whose best place is within two pixels of the truth. With --turned they are pasted at any angle, between pixels, and
searched at all angles, the angle within three degrees; and how far off the ones are that are found on edges, in the
median.

    edges_bench.py FOLDER [--trials N] [--edge-contrast LEVELS] [--turned]

FOLDER has at least three photographs, which Pillow reads; needs numpy, Pillow and the package xcorr.
"""
import argparse
import math
import pathlib

import numpy
import xcorr
from PIL import Image

SIDE = 64


def hidden(share):
    """One of the patch's sides is covered by another photograph."""
    def change(patch, random, cover):
        turns = random.integers(4)
        patch, cover = numpy.rot90(patch, turns).copy(), numpy.rot90(cover, turns)
        rows = round(SIDE * share)
        patch[:rows] = cover[:rows]
        return numpy.rot90(patch, -turns)
    return change


CHANGES = {
    "as it is": lambda patch, *_: patch,
    "30 % hidden": hidden(0.3),
    "50 % hidden": hidden(0.5),
    "60 % hidden": hidden(0.6),
    "light 1:4 across": lambda patch, *_: patch * numpy.linspace(0.25, 1, SIDE),
    "inverted": lambda patch, *_: 255 - patch,
    "a third of the contrast": lambda patch, *_: (patch - patch.mean()) / 3 + patch.mean(),
}


def part(image, random, margin=0):
    y, x = (random.integers(margin, length - SIDE - margin) for length in image.shape)
    return x, y, image[y:y + SIDE, x:x + SIDE].astype(float)


def paste(frame, patch, x, y, angle):
    """With its centre there, turned by degrees, counter-clockwise; but for a rim of a pixel and a half, which mixes."""
    cosine, sine = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    rows, columns = numpy.indices(frame.shape)
    u, v = cosine * (columns - x) - sine * (rows - y), sine * (columns - x) + cosine * (rows - y)
    # Where pixels of the frame lie in the patch; Pillow's begin half a pixel earlier.
    places = (cosine, -sine, (SIDE - cosine + sine) / 2 - cosine * x + sine * y,
              sine, cosine, (SIDE - sine - cosine) / 2 - sine * x - cosine * y)
    turned = Image.fromarray(patch.astype("f4")).transform(frame.shape[::-1], Image.Transform.AFFINE, places,
                                                           Image.Resampling.BICUBIC)
    inside = numpy.maximum(abs(u), abs(v)) < SIDE / 2 - 1.5
    frame[inside] = numpy.asarray(turned)[inside]


def matchers(patch, options):
    """Raises ValueError where the patch has nothing to go by."""
    on_edges = dict(match_on="edges", edge_contrast=options.edge_contrast)
    how = dict(poses=xcorr.Poses(angle_start=-180, angle_extent=360)) if options.turned else dict(subpixel="none")
    return [xcorr.Matcher([patch.astype("u1")], device="cpu", settings=xcorr.Settings(threshold=-1, **how, **each))
            for each in ({}, on_edges, {**on_edges, "polarity": "either"})]


def trial(photographs, random, change, options):
    """How far off it is, in pixels and degrees, on luma, on edges and on edges of either contrast; None where there is
    nothing to find."""
    of, into, over = random.choice(len(photographs), 3, replace=False)
    _, _, patch = part(photographs[of], random, 8)
    frame = photographs[into].astype(float)
    if options.turned:
        x, y = (random.uniform(SIDE - 14, length - SIDE + 13) for length in reversed(frame.shape))
        angle = random.uniform(-180, 180)
        paste(frame, change(patch, random, part(photographs[over], random)[2]), x, y, angle)
    else:
        left, top, _ = part(frame, random)
        x, y, angle = left + (SIDE - 1) / 2, top + (SIDE - 1) / 2, 0
        frame[top:top + SIDE, left:left + SIDE] = change(patch, random, part(photographs[over], random)[2])
    frame = numpy.clip(frame + random.normal(0, 4, frame.shape), 0, 255).round().astype("u1")
    if patch.std() < 15:
        return None
    found = []
    try:
        for matcher in matchers(patch, options):
            pose, = matcher.match(frame)["pose"]
            found.append((max(abs(pose["center_x"] - x), abs(pose["center_y"] - y)),
                          abs(math.remainder(pose["angle"] - angle, 360))))
    except ValueError:
        return None
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--edge-contrast", type=float, default=xcorr.Settings().edge_contrast)
    parser.add_argument("--turned", action="store_true", help="at any angle")
    options = parser.parse_args()
    photographs = [numpy.asarray(Image.open(file).convert("L")) for file in sorted(options.folder.glob("*.png"))]
    columns = ["patches", "luma", "edges", "edges, polarity=either"] + ["place, angle on edges"] * options.turned
    print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}")
    for name, change in CHANGES.items():
        random = numpy.random.default_rng(1)
        trials = []
        while len(trials) < options.trials:
            if (found := trial(photographs, random, change, options)) is not None:
                trials.append(found)
        off = numpy.array(trials)
        found = (off[..., 0] <= 2) & (off[..., 1] <= 3)
        cells = [f"{100 * share:.0f} %" for share in found.mean(axis=0)]
        if options.turned:
            cells.append("{:.2f} px, {:.2f}°".format(*numpy.median(off[found[:, 1], 1], axis=0)) if found[:, 1].any()
                         else "")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
