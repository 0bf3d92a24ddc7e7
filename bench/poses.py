#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""How well parts of known pose are found, and how fast, by the Python package.

    poses.py scenes [--parts=300] [--levels=-1] [--filter='square of 64*'] [--match-on=edges] [--device=cpu]
                    [--csv=FILE]
    poses.py shifts [--side=32] [--noise=0] [--csv=FILE]

`scenes`: parts at any angle, and of any size where the row says so, in frames of 1920x1080 with clutter and noise,
three a frame; of photographs, of drawings of fine lines, or partly outside of the frame. `shifts`: upright templates in
photographs moved by quarters of a pixel, for each way to find parts of a pixel, beside OpenCV's findTransformECC where
it is installed. Photographs are scikit-image's.
"""
import argparse
import csv
import fnmatch
import os
import statistics
import sys
import time

import numpy as np
import xcorr

from compare import machine
from posing import drawings, images, scenes, shifts
from posing.judge import Judge

KINDS = (scenes.Kind(64), scenes.Kind(64, 'disc'), scenes.Kind(128), scenes.Kind(128, 'disc'), scenes.Kind(96, 'bar'),
         scenes.Kind(64, scales=(0.8, 1.25)), scenes.Kind(64, 'disc', (0.8, 1.25)), scenes.Kind(64, scales=(0.5, 2)),
         scenes.Kind(64, scales=(1, 3)), *(scenes.Kind(60, lines=lines) for lines in drawings.KINDS),
         scenes.Kind(64, overhang=0.4), scenes.Kind(64, 'disc', overhang=0.4))
A_FRAME = 3
SCENE_COLUMNS = ('part', 'parts', 'found', 'false', *(f'{what}_{value}' for what in ('place', 'angle', 'scale')
                                                      for value in ('median', '95', 'bound')), 'ms')
SHIFT_COLUMNS = ('subpixel', 'matches', 'mean', 'median', '95', 'most')


def poses_of(peaks):
    return [tuple(peak['pose'][name] for name in ('center_x', 'center_y', 'angle', 'scale')) for peak in peaks]


def search(kind, photographs, options):
    """A row: frames that differ in everything."""
    judge, times = Judge(), []
    poses = xcorr.Poses(angle_extent=360, scale_min=kind.scales[0], scale_max=kind.scales[1],
                        pyramid_levels=options.levels)
    settings = xcorr.Settings(threshold=options.threshold, max_peaks=A_FRAME, overhang=0.5 if kind.overhang else 0,
                              match_on=options.match_on, poses=poses)
    for seed in range(-(-options.parts // A_FRAME)):
        scene = scenes.scene(seed, photographs, kind, parts=A_FRAME, noise=options.noise)
        matcher = xcorr.Matcher([scene.template], [scene.mask], device=options.device, settings=settings)
        try:
            peaks = matcher.match(scene.frame)
        except (ValueError, MemoryError, RuntimeError) as error:  # what it would cost, or too few edges
            print(f'seed {seed}: {error}', file=sys.stderr)
            judge.add([], scene.poses, scene.bound)
            continue
        for _ in range(options.repeats):
            begin = time.perf_counter()
            matcher.match(scene.frame)
            times.append(1000 * (time.perf_counter() - begin))
        judge.add(poses_of(peaks), scene.poses, scene.bound)
    errors = [f'{value:.4f}' for value in judge.table().T.ravel()]
    time_ms = statistics.median(times) if times else float('nan')
    return kind.name, judge.parts, len(judge.errors), judge.false, *errors, f'{time_ms:.2f}'


def scene_rows(options):
    photographs = list(images.photographs().values())
    for kind in KINDS:
        if fnmatch.fnmatch(kind.name, options.filter):
            yield search(kind, drawings.drawings(kind.lines) if kind.lines else photographs, options)


def ours(subpixel, device):
    def place(template, frame):
        matcher = xcorr.Matcher([template], device=device, subpixel=subpixel, threshold=0)
        peak = matcher.match(frame)[0]
        return peak['x'], peak['y']
    return place


def ecc(template, frame):
    import cv2  # pylint: disable=import-outside-toplevel
    x, y = ours('none', 'cpu')(template, frame)
    warp = np.array([[1, 0, x], [0, 1, y]], np.float32)
    stop = cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 100, 1e-6
    try:
        _, warp = cv2.findTransformECC(template, frame, warp, cv2.MOTION_TRANSLATION, stop, None, 1)  # unsmoothed: best
    except cv2.error:  # no convergence
        pass
    return warp[0, 2], warp[1, 2]


def shift_rows(options):
    ways = {name: ours(name, options.device) for name in ('none', 'quadratic', 'least-squares')}
    try:
        import cv2  # pylint: disable=import-outside-toplevel
        ways[f'OpenCV {cv2.__version__} findTransformECC'] = ecc
    except ImportError as why:
        print(f'left out: {why}', file=sys.stderr)
    errors = {name: [] for name in ways}
    random = np.random.default_rng(1)
    for photograph in images.photographs().values():
        for template, frame, true in shifts.pairs(photograph, options.side, options.noise, random):
            found = {name: np.hypot(*np.subtract(way(template, frame), true)) for name, way in ways.items()}
            if found['none'] < 1:  # else another place looks more like it
                for name, error in found.items():
                    errors[name].append(error)
    for name, all_of_it in errors.items():
        yield (name, len(all_of_it), *(f'{value:.4f}' for value in (
            np.mean(all_of_it), np.median(all_of_it), np.quantile(all_of_it, 0.95), np.max(all_of_it))))


MODES = {'scenes': (SCENE_COLUMNS, scene_rows), 'shifts': (SHIFT_COLUMNS, shift_rows)}


def parse(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add('mode', choices=MODES)
    add('--device', default='auto', help="'cpu', 'cuda' or 'auto'; frames lie in the host's memory")
    add('--noise', type=float, help='standard deviation, gray levels; default 4 in scenes, 0 in shifts')
    add('--parts', type=int, default=300, metavar='N', help='at least so many a row of scenes')
    add('--levels', type=int, default=-1, metavar='N', help='pyramid_levels of scenes')
    add('--match-on', default='luma', help='of scenes')
    add('--threshold', type=float, default=0.5, help='of scenes')
    add('--filter', default='*', metavar='GLOB', help='rows of scenes')
    add('--repeats', type=int, default=3, metavar='N', help='how often each frame of scenes is timed')
    add('--side', type=int, default=32, metavar='N', help='of the templates of shifts')
    add('--csv', default=os.devnull, metavar='FILE', help='write the rows there as well')
    options = parser.parse_args(arguments)
    if options.noise is None:
        options.noise = 4 if options.mode == 'scenes' else 0
    return options


def main():
    options = parse()
    columns, rows = MODES[options.mode]
    devices = xcorr.devices()
    gpu = devices.get('cuda:0') if options.device != 'cpu' else None
    with open(options.csv, 'w', encoding='utf-8') as file:
        file.write(f'# {machine("cuda" if gpu else "cpu", gpu)}; poses.py {" ".join(sys.argv[1:])}\n')
        table = csv.writer(file, lineterminator='\n')
        table.writerow(columns)
        print(*columns, sep='  ')
        for row in rows(options):
            table.writerow(row)
            file.flush()
            print(*row, sep='  ', flush=True)


if __name__ == '__main__':
    main()
