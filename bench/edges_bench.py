#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""How much of a template may be hidden, badly lit, inverted or faint, matched on luma and on edges.

Patches of 64 x 64 of photographs are pasted into others, with noise of 4 gray levels, and searched upright: the share
whose best place is within two pixels of the truth.

    edges_bench.py FOLDER [--trials N] [--edge-contrast LEVELS]

FOLDER has at least three photographs, which Pillow reads; needs numpy, Pillow and the package xcorr.
"""
import argparse
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


def matchers(patch, edge_contrast):
    """Raises ValueError where the patch has nothing to go by."""
    on_edges = dict(match_on="edges", edge_contrast=edge_contrast)
    return [xcorr.Matcher([patch.astype("u1")], device="cpu", settings=xcorr.Settings(threshold=-1, subpixel="none", **each))
            for each in ({}, on_edges, {**on_edges, "polarity": "either"})]


def trial(photographs, random, change, edge_contrast):
    """Whether it is found, on luma, on edges and on edges of either contrast; None where there is nothing to find."""
    of, into, over = random.choice(len(photographs), 3, replace=False)
    _, _, patch = part(photographs[of], random, 8)
    frame = photographs[into].astype(float)
    x, y, _ = part(frame, random)
    frame[y:y + SIDE, x:x + SIDE] = change(patch, random, part(photographs[over], random)[2])
    frame = numpy.clip(frame + random.normal(0, 4, frame.shape), 0, 255).round().astype("u1")
    if patch.std() < 15:
        return None
    found = []
    try:
        for matcher in matchers(patch, edge_contrast):
            peak, = matcher.match(frame)
            found.append(abs(peak["x"] - x) <= 2 and abs(peak["y"] - y) <= 2)
    except ValueError:
        return None
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--edge-contrast", type=float, default=xcorr.Settings().edge_contrast)
    options = parser.parse_args()
    photographs = [numpy.asarray(Image.open(file).convert("L")) for file in sorted(options.folder.glob("*.png"))]
    print("| patches | luma | edges | edges, polarity=either |\n| --- | --- | --- | --- |")
    for name, change in CHANGES.items():
        random = numpy.random.default_rng(1)
        trials = []
        while len(trials) < options.trials:
            if (found := trial(photographs, random, change, options.edge_contrast)) is not None:
                trials.append(found)
        print(f"| {name} | " + " | ".join(f"{100 * share:.0f} %" for share in numpy.mean(trials, axis=0)) + " |", flush=True)


if __name__ == "__main__":
    main()
