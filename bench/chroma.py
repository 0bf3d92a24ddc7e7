#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What chroma of half the size would cost if its four phases were a bank of templates: chroma.py [--csv=FILE]

CPU milliseconds on one core for templates of 64x64 in 1920x1080, random bytes: luma; colour as it is, three planes of
that size; and one plane of chroma, of 960x540, with four templates of 32x32 for each. Luma and two of those have all
products that a score in NV12 needs (docs/architecture/scores.md#colour). Needs the package xcorr.
"""
import argparse
import csv
import os
import statistics
import time

import numpy as np
import xcorr

from compare import machine

COLUMNS = ('templates', 'luma_ms', 'color_ms', 'chroma_ms', 'color_by_luma', 'phases_by_luma')
REPEATS = 7


def parts(random, frame, side, count):
    corners = (random.integers(length - side, size=count) for length in frame.shape[:2])
    return [np.ascontiguousarray(frame[y:y + side, x:x + side]) for y, x in zip(*corners)]


def row(count):
    random = np.random.default_rng(1)
    color = random.integers(0, 256, (1080, 1920, 3), dtype=np.uint8)
    luma, chroma = np.ascontiguousarray(color[..., 0]), np.ascontiguousarray(color[::2, ::2, 1])
    works = []
    for frame, side, templates, how in ((luma, 64, count, {}),
                                        (color, 64, count, {'colours': 'rgb', 'match_on': 'color'}),
                                        (chroma, 32, 4 * count, {})):
        matcher = xcorr.Matcher(parts(random, frame, side, templates), device='cpu', subpixel='none', **how)
        works.append((matcher, frame))
    times = [[] for _ in works]
    for _ in range(REPEATS):
        for taken, (matcher, frame) in zip(times, works):
            begin = time.process_time()
            matcher.match(frame)
            taken.append(1000 * (time.process_time() - begin))
    of_luma, of_color, of_chroma = (statistics.median(taken) for taken in times)
    return (count, *(f'{value:.1f}' for value in (of_luma, of_color, of_chroma)), f'{of_color / of_luma:.2f}',
            f'{(of_luma + 2 * of_chroma) / of_luma:.2f}')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--csv', default=os.devnull, metavar='FILE', help='write the rows there as well')
    options = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with open(options.csv, 'w', encoding='utf-8') as file:
        file.write(f'# {machine("cpu", None)}; chroma.py\n')
        table = csv.writer(file, lineterminator='\n')
        for line in (COLUMNS, *(row(count) for count in (1, 8))):
            table.writerow(line)
            print(*line, sep='  ', flush=True)


if __name__ == '__main__':
    main()
