#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Parts at any angle, partly hidden, found on edges by xcorr and by LINE-2D, each on one core.

    line2d.py [CHECKOUT] [--parts=180] [--first=0] [--hidden 0.3 0.5 0.6] [--levels 1 2] [--threshold=0.3] [--csv=FILE]

CHECKOUT is a clone of github.com/meiqua/shape_based_matching. It is built with g++ and OpenCV (libopencv-dev) into a
temporary folder, without OpenMP and for AVX2, since its code for AVX-512 does not compile. Both search the same scenes
(posing/scenes.py), LINE-2D with a template for each degree, and keep the best three places that are apart. It takes
gradients from a contrast on that users choose for their images, so there is a row for each of two. `ms` is CPU time of
a search, without what is made of the template. --levels adds rows of xcorr with so many pyramid levels, which show what
its first pass misses; without CHECKOUT xcorr is alone. --first is the number of the first scene: others than those on
which something was chosen.
"""
import argparse
import csv
import ctypes
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import xcorr

from compare import machine
from posing import images, scenes
from posing.judge import Judge

SIDE, A_FRAME = 128, 3
THRESHOLD, SIMILARITY = 0.3, 60
CONTRASTS = (30, 60), (10, 20)  # of gradients in frames and templates by Sobel's operator: its own, and lower ones
COLUMNS = ('part', 'program', 'parts', 'found', 'false', 'place_median', 'place_95', 'angle_median', 'angle_95', 'ms')
FEATURES = 128  # as its own example of angles has it
MATCHES = 20000  # more are not read
AUTOMATIC = -1  # as many pyramid levels as the template allows


class Match(ctypes.Structure):
    _fields_ = [(name, ctypes.c_float) for name in ('x', 'y', 'angle', 'similarity')]


def built(checkout, folder):
    """The functions of peers/line2d.cpp."""
    library = pathlib.Path(folder, 'line2d.so')
    flags = subprocess.run(['pkg-config', '--cflags', 'opencv4'], check=True, capture_output=True, text=True).stdout
    source = pathlib.Path(__file__).parent / 'peers' / 'line2d.cpp'
    subprocess.run(['g++', '-std=c++17', '-O3', '-march=haswell', '-w', '-shared', '-fPIC', f'-I{checkout}',
                    f'-I{checkout}/MIPP', *flags.split(), source, checkout / 'line2Dup.cpp', '-o', library,
                    '-lopencv_imgproc', '-lopencv_core'], check=True)
    functions = ctypes.CDLL(library)
    functions.line2d_train.restype = ctypes.c_void_p
    functions.line2d_train.argtypes = [ctypes.c_char_p] + 3 * [ctypes.c_int] + 2 * [ctypes.c_float]
    functions.line2d_free.argtypes = [ctypes.c_void_p]
    functions.line2d_match.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_int, ctypes.c_float,
                                       ctypes.POINTER(Match), ctypes.c_int]
    return functions


class Line2d:
    """As its example of angles finds a part: templates of one degree, pyramid strides 4 and 8."""

    def __init__(self, functions, contrast):
        self.functions, self.contrast = functions, contrast
        self.name = f'LINE-2D, gradients of {contrast[1]}'

    def prepare(self, scene):
        height, width = scene.template.shape
        return self.functions.line2d_train(scene.template.tobytes(), width, height, FEATURES, *self.contrast)

    def search(self, model, frame):
        found = (Match * MATCHES)()
        count = self.functions.line2d_match(model, frame.tobytes(), *frame.shape[::-1], SIMILARITY, found, MATCHES)
        kept = []
        for match in found[:count]:
            if all(np.hypot(match.x - x, match.y - y) > SIDE / 2 for x, y, *_ in kept):
                kept.append((match.x, match.y, match.angle, 1))
                if len(kept) == A_FRAME:
                    break
        return kept

    def release(self, model):
        self.functions.line2d_free(model)


class Ours:
    def __init__(self, levels=AUTOMATIC, threshold=THRESHOLD):
        self.name = 'xcorr' if levels == AUTOMATIC else f'xcorr, pyramid_levels={levels}'
        self.settings = xcorr.Settings(match_on='edges', threshold=threshold, max_peaks=A_FRAME,
                                       poses=xcorr.Poses(angle_extent=360, pyramid_levels=levels))

    def prepare(self, scene):
        matcher = xcorr.Matcher([scene.template], device='cpu', settings=self.settings)
        matcher.match(scene.frame)  # which makes its buffers
        return matcher

    def search(self, matcher, frame):
        return [tuple(peak['pose'][name] for name in ('center_x', 'center_y', 'angle', 'scale'))
                for peak in matcher.match(frame)]

    def release(self, _):
        """It goes with its last reference."""


def rows_of(kind, programs, photographs, numbers):
    """The programs search each scene by turns."""
    judges, times = [Judge() for _ in programs], [[] for _ in programs]
    for number in numbers:
        scene = scenes.scene(number, photographs, kind, parts=A_FRAME)
        for program, judge, taken in zip(programs, judges, times):
            prepared = program.prepare(scene)
            begin = time.process_time()
            peaks = program.search(prepared, scene.frame)
            taken.append(1000 * (time.process_time() - begin))
            program.release(prepared)
            judge.add(peaks, scene.poses, scene.bound)
    for program, judge, taken in zip(programs, judges, times):
        errors = [f'{value:.3f}' for value in judge.table()[:2, :2].T.ravel()]
        yield (kind.name, program.name, judge.parts, len(judge.errors), judge.false, *errors,
               f'{statistics.median(taken):.0f}')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('checkout', type=pathlib.Path, nargs='?')
    parser.add_argument('--parts', type=int, default=180, metavar='N', help='at least so many a row')
    parser.add_argument('--first', type=int, default=0, metavar='N', help='scene')
    parser.add_argument('--hidden', type=float, nargs='+', default=(0.3, 0.5, 0.6), metavar='SHARE', help='a row each')
    parser.add_argument('--levels', type=int, nargs='+', default=(), metavar='N', help='a row each of xcorr')
    parser.add_argument('--threshold', type=float, default=THRESHOLD, help='of xcorr')
    parser.add_argument('--csv', default=os.devnull, metavar='FILE', help='write the rows there as well')
    options = parser.parse_args()
    given = [argument for argument in sys.argv[1:] if argument != str(options.checkout)]
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    photographs = list(images.photographs().values())
    with tempfile.TemporaryDirectory() as folder, open(options.csv, 'w', encoding='utf-8') as file:
        programs = [Ours(levels, options.threshold) for levels in (AUTOMATIC, *options.levels)]
        if options.checkout:
            functions = built(options.checkout, folder)
            programs += [Line2d(functions, contrast) for contrast in CONTRASTS]
        file.write(f'# {machine("cpu", None)}; line2d.py {" ".join(given)}\n')
        table = csv.writer(file, lineterminator='\n')
        table.writerow(COLUMNS)
        print(*COLUMNS, sep='  ')
        numbers = range(options.first, options.first + -(-options.parts // A_FRAME))
        for hidden in options.hidden:
            for row in rows_of(scenes.Kind(SIDE, hidden=hidden), programs, photographs, numbers):
                table.writerow(row)
                file.flush()
                print(*row, sep='  ', flush=True)


if __name__ == '__main__':
    main()
