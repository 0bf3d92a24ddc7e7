#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Large parts that are blurred until few edges are left, found on edges at any angle by one core.

    edges_blurred.py [--parts=24] [--first=0] [--csv=FILE]

Each is a square of 300 pixels of a photograph, blurred by 5 to 11 pixels, in another photograph of 1280x960 pixels with
noise of 2 gray levels; those of which more or less than FEW of the pixels has a gradient of 1.5 gray levels are left
out. `refused`: for want of edges; `found`: the best place is within 6 pixels and 5 degrees; `elsewhere`: the best score
of a place further away, in the median and at most; `seconds`: CPU time of a first frame, in the median. Photographs are
scikit-image's.
"""
import argparse
import csv
import os
import time

import numpy as np
import xcorr
from PIL import Image, ImageFilter

from compare import machine
from posing import images
from posing.judge import off

SIDE, WIDTH, HEIGHT, NOISE = 300, 1280, 960, 2
FEW, GRADIENT = (0.001, 0.02), 1.5
PLACE, ANGLE = 6, 5
COLUMNS = ('parts', 'refused', 'found', 'place_median', 'elsewhere_median', 'elsewhere_most', 'seconds')


def blurred(image, sigma):
    return np.asarray(Image.fromarray(images.to_bytes(image)).filter(ImageFilter.GaussianBlur(sigma)), np.float32)


def enlarged(image):
    factor = max(WIDTH / image.shape[1], HEIGHT / image.shape[0], 1)
    size = [int(np.ceil(length * factor)) for length in reversed(image.shape)]
    return np.array(Image.fromarray(image).resize(size, Image.Resampling.BICUBIC))[:HEIGHT, :WIDTH]


def scene(number, photographs):
    """(frame, template, pose); None if the part has many edges or none."""
    random = np.random.default_rng(number)
    of, into = random.choice(len(photographs), 2, replace=False)
    y, x = (random.integers(length - SIDE + 1) for length in photographs[of].shape)
    part = blurred(photographs[of], random.uniform(5, 11))[y:y + SIDE, x:x + SIDE]
    if not FEW[0] <= (np.hypot(*np.gradient(part)) > GRADIENT).mean() <= FEW[1]:
        return None
    frame = enlarged(photographs[into])
    pose = (*(random.uniform(0.75 * SIDE, length - 0.75 * SIDE) for length in (WIDTH, HEIGHT)),
            random.uniform(0, 360), 1)
    places = np.meshgrid(np.arange(WIDTH, dtype=np.float32), np.arange(HEIGHT, dtype=np.float32))
    u, v = images.seen_from((SIDE / 2 - 0.5, SIDE / 2 - 0.5), pose, *places)
    inside = (np.minimum(u, v) >= 0) & (np.maximum(u, v) <= SIDE - 1)
    frame = np.where(inside, images.at(np.ascontiguousarray(part), u, v), frame)
    return images.to_bytes(frame + random.normal(0, NOISE, frame.shape)), images.to_bytes(part), pose


def search(frame, template):
    """[(pose, score)], the best one first; None where the template is refused."""
    settings = xcorr.Settings(match_on='edges', threshold=0.3, max_peaks=3, poses=xcorr.Poses(angle_extent=360))
    try:
        peaks = xcorr.Matcher([template], device='cpu', settings=settings).match(frame)
    except ValueError:
        return None
    return [(tuple(peak['pose'][name] for name in ('center_x', 'center_y', 'angle', 'scale')), peak['score'])
            for peak in peaks]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--parts', type=int, default=24, metavar='N')
    parser.add_argument('--first', type=int, default=0, metavar='N', help='scene')
    parser.add_argument('--csv', default=os.devnull, metavar='FILE', help='write the row there as well')
    options = parser.parse_args()
    xcorr.set_max_threads(1)
    photographs = [each for each in images.photographs().values() if min(each.shape) > SIDE]
    places, elsewhere, times, refused, number = [], [], [], 0, options.first
    while len(times) + refused < options.parts:
        drawn = scene(number, photographs)
        number += 1
        if drawn is None:
            continue
        frame, template, true = drawn
        begin = time.process_time()
        peaks = search(frame, template)
        if peaks is None:
            refused += 1
            continue
        times.append(time.process_time() - begin)
        far = [(*off(pose, true)[:2], score) for pose, score in peaks]
        if far and far[0][0] < PLACE and far[0][1] < ANGLE:
            places.append(far[0][0])
        elsewhere.append(max((score for place, _, score in far if place > PLACE), default=0))
    row = (options.parts, refused, len(places), f'{np.median(places):.2f}', f'{np.median(elsewhere):.2f}',
           f'{max(elsewhere):.2f}', f'{np.median(times):.2f}')
    for line in (COLUMNS, row):
        print(*line, sep='  ')
    with open(options.csv, 'w', encoding='utf-8') as file:
        file.write(f'# {machine("cpu", None)}; edges_blurred.py --parts={options.parts} --first={options.first}\n')
        csv.writer(file, lineterminator='\n').writerows((COLUMNS, row))


if __name__ == '__main__':
    main()
