#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a frame is estimated to take on a CPU, beside what it takes: a row for each kind of problem.

    estimates.py [--csv=bench/results/MACHINE-estimates.csv]

One thread works, and its own time is taken, so that other programs matter little. The estimate is that of the message
by which `max_work` refuses a task.
"""
import argparse
import csv
import re
import time

import numpy as np
import xcorr

from compare import machine

COLUMNS = ('problem', 'estimated', 'measured', 'ratio')
HD, VGA = (720, 1280), (480, 640)


def noise(shape, seed, fine=1):
    """Squares of that many pixels."""
    rows, columns = (-(-side // fine) for side in shape[:2])
    small = np.random.default_rng(seed).integers(0, 256, (rows, columns, *shape[2:]), dtype=np.uint8)
    return small.repeat(fine, 0).repeat(fine, 1)[:shape[0], :shape[1]]


def match(shape, side, count=1, element=np.uint8, mask=None, colours='', fine=4, **settings):
    """How to make a matcher with more settings, and a frame for it."""
    planes = (len(colours),) if colours else ()
    frame = noise((*shape, *planes), 1, fine).astype(element)
    templates = [noise((side, side, *planes), 2 + i, fine).astype(element) for i in range(count)]
    masks = None if mask is None else [mask(side)] * count
    return lambda **more: xcorr.Matcher(templates, masks, device='cpu', colours=colours, **settings, **more), frame


def field(**settings):
    frame = noise(VGA, 1, 4)
    return lambda **more: xcorr.FieldMatcher(frame, device='cpu', **settings, **more), frame


def radii(side):
    place = np.arange(side) - (side - 1) / 2
    return np.hypot(*np.meshgrid(place, place)) / (side / 2)


def disc(side):
    return (radii(side) < 1).astype(np.uint8)


def soft_disc(side):
    return np.clip(600 * (1 - radii(side)), 0, 240).astype(np.uint8)


def scattered(side):
    return noise((side, side), 9) % 2


def poses(**settings):
    return {'poses': xcorr.Poses(**settings)}


PROBLEMS = {
    'a template of 64x64': match(HD, 64),
    'a template of 300x300': match(HD, 300),
    '100 templates of 32x32': match(VGA, 32, 100),
    '1000 templates of 16x16': match(VGA, 16, 1000),
    'words': match(HD, 64, element=np.uint16),
    'floats': match(HD, 64, element=np.float32),
    'a disc': match(HD, 100, mask=disc),
    'a mask of noise': match(HD, 100, mask=scattered),
    'a disc of weights': match(HD, 100, mask=soft_disc, weights=True),
    'colour': match(HD, 64, colours='rgb', match_on='color'),
    'edges': match(HD, 64, match_on='edges'),
    'across the border': match(HD, 64, overhang=0.3),
    'any angle': match(VGA, 64, fine=8, **poses(angle_extent=360)),
    'any angle, sizes of 0.8 to 1.25': match(VGA, 64, fine=8, **poses(angle_extent=360, scale_min=0.8, scale_max=1.25)),
    '30 degrees at full size': match(VGA, 48, **poses(angle_extent=30, pyramid_levels=0)),
    'edges at any angle': match(VGA, 64, fine=8, match_on='edges', **poses(angle_extent=360)),
    'a field, windows of 32': field(windows=(32,), spacing=16),
    'a field, windows of 64 every 4 pixels': field(windows=(64,), spacing=4),
    'a field, least squares': field(windows=(64, 32), subpixel='least-squares'),
}


def estimated(make, frame):
    try:
        make(max_work=1e-9).match(frame)
    except ValueError as refused:
        return float(re.search(r'about ([-+.\de]+) s', str(refused))[1])
    raise RuntimeError('nothing was estimated')


def measured(made, frame, repeats=3):
    made.match(frame)
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        made.match(frame)
        times.append(time.process_time() - begin)
    return min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--csv')
    options = parser.parse_args()
    xcorr.set_max_threads(1)
    rows = []
    for name, (make, frame) in PROBLEMS.items():
        expected, taken = estimated(make, frame), measured(make(max_memory=0), frame)
        rows.append((name, f'{expected:.4g}', f'{taken:.4g}', f'{expected / taken:.2f}'))
        print('{:40} {:>10} s {:>10} s {:>6}'.format(*rows[-1]), flush=True)
    if options.csv:
        with open(options.csv, 'w', encoding='utf-8', newline='') as file:
            file.write(f"# {machine('cpu', '')}; estimates.py, one thread\n")
            csv.writer(file, lineterminator='\n').writerows([COLUMNS, *rows])


if __name__ == '__main__':
    main()
