#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""How exact displacement fields are beside OpenPIV and OpenCV, on pairs whose truth is known, in one run.

    field_peers.py --field-bench=build/bench/field_bench [--filter=TEXT] [--device=cpu] [--csv=FILE]
    field_peers.py --pairs=FOLDER [--filter=TEXT] [--device=cpu] [--csv=FILE]

The pairs are drawn by field_bench, with windows of 32x32 or 33x33 pixels every 16, or given in a folder, as the PIV
dataset of Cai et al. has them, with windows of 16x16 or 17x17 pixels every 8. Needs the package xcorr and NumPy, for
given pairs also Pillow; OpenPIV and OpenCV are used where they are (field_peers.sh installs all of them). Prints for
each case and program the root of the mean square of a component's error and its greatest mean over the pairs, without
vectors that are off by a pixel or more, whose share is in the next column. Time is the processor's for a pair, of all
threads. The CSV has a row for each pair and program: both components of the mean displacement, of the mean error and of
the error's root of the mean square, which plot_fields.py draws.
"""
import argparse
import contextlib
import csv
import dataclasses
import importlib.metadata
import itertools
import os
import pathlib
import subprocess
import tempfile
import time

import numpy as np

import xcorr

from compare import machine


@dataclasses.dataclass(frozen=True)
class Layout:
    """Of windows, in pixels; vectors nearer to the image's edge than `margin` are left out."""

    window: int
    spacing: int
    margin: int
    search_range: int = 16


COLUMNS = ('case', 'program', 'dx', 'dy', 'mean_x', 'mean_y', 'rms_x', 'rms_y', 'vectors', 'outliers')
DRAWN, GIVEN = Layout(32, 16, 48), Layout(16, 8, 24)


def of_ours(passes=lambda window: (window,), **settings):
    def measure(before, after, layout, device):
        matcher = xcorr.FieldMatcher(before, device=device, windows=passes(layout.window), spacing=layout.spacing,
                                     search_range=layout.search_range, **settings)
        vectors = matcher.match(after)
        return vectors["x"], vectors["y"], vectors["dx"], vectors["dy"], settings.get('symmetric', False)
    return measure


def openpiv_passes(before, after, layout, _):
    """Three passes with deformation. Its vectors belong to the middle of the way, its y points upwards and its places
    are edges of pixels."""
    from openpiv import windef  # pylint: disable=import-outside-toplevel
    settings = windef.PIVSettings()
    window = layout.window
    settings.windowsizes = (2 * window, window, window)
    settings.overlap = (window, window - layout.spacing, window - layout.spacing)
    settings.num_iterations = 3
    settings.sig2noise_method = 'peak2mean'
    settings.show_plot = settings.show_all_plots = False
    x, y, dx, dy, _ = windef.simple_multipass(before.astype(float), after.astype(float), settings)
    return x - 0.5, before.shape[0] - y - 0.5, dx, -dy, True


def openpiv_search(before, after, layout, _):
    """One pass, windows in larger ones."""
    from openpiv import pyprocess  # pylint: disable=import-outside-toplevel
    area = layout.window + 2 * layout.search_range
    dx, dy = pyprocess.extended_search_area_piv(
        before.astype(np.int32), after.astype(np.int32), window_size=layout.window, search_area_size=area,
        overlap=area - layout.spacing, normalized_correlation=True, correlation_method='circular',
        sig2noise_method=None,
        subpixel_method='gaussian')[:2]
    x, y = pyprocess.get_coordinates(before.shape, area, area - layout.spacing, center_on_field=False)
    return x - 0.5, y - 0.5, np.ma.filled(dx, np.nan), np.ma.filled(dy, np.nan), False


def corners(shape, layout):
    """Of windows whose whole range is inside the image."""
    reach = layout.search_range
    return np.meshgrid(*(np.arange(reach, length - layout.window - reach, layout.spacing) for length in shape[::-1]))


def opencv_match(before, after, layout, _):
    """matchTemplate in each window's range, and a Gauss curve through three scores along each axis."""
    import cv2  # pylint: disable=import-outside-toplevel
    left, top = corners(before.shape, layout)
    found = np.full((2, *left.shape), np.nan)
    window, reach = layout.window, layout.search_range
    for place in np.ndindex(left.shape):
        x, y = left[place], top[place]
        scores = cv2.matchTemplate(after[y - reach:y + window + reach, x - reach:x + window + reach],
                                   before[y:y + window, x:x + window], cv2.TM_CCOEFF_NORMED)
        row, column = np.unravel_index(scores.argmax(), scores.shape)
        if 0 < row < 2 * reach and 0 < column < 2 * reach:
            logs = np.log(np.maximum(scores[row - 1:row + 2, column - 1:column + 2], 1e-3))
            found[(0, *place)] = column - reach + vertex(*logs[1])
            found[(1, *place)] = row - reach + vertex(*logs[:, 1])
    return left + (window - 1) / 2, top + (window - 1) / 2, *found, False


def vertex(before, here, after):
    """Of a parabola."""
    curvature = before - 2 * here + after
    return 0.5 * (before - after) / curvature if curvature < 0 else 0


def opencv_dis(before, after, layout, _):
    """Dense optical flow, the mean over each window."""
    import cv2  # pylint: disable=import-outside-toplevel
    flow = cv2.DISOpticalFlow_create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM).calc(before, after, None)
    left, top = corners(before.shape, layout)
    means = cv2.blur(flow, (layout.window, layout.window), anchor=(0, 0))[top, left]
    half = (layout.window - 1) / 2
    return left + half, top + half, means[..., 0], means[..., 1], False


def odd(window):
    return (window + 1,)


def thrice(window):
    return 2 * window, window, window


LEAST_SQUARES = {'passes': odd, 'subpixel': 'least-squares'}
# What it needs, f(before, after, layout, device) -> x, y, dx, dy, whether they are of the middle of the way.
PROGRAMS = {
    'xcorr, gauss': (None, of_ours()),
    'xcorr, 2w-w-w with deformation': (None, of_ours(thrice, deformation=True)),
    'xcorr, 2w-w-w with deformation, symmetric': (None, of_ours(thrice, deformation=True, symmetric=True)),
    'xcorr, least squares 0': (None, of_ours(order=0, **LEAST_SQUARES)),
    'xcorr, least squares 0, prefilter 0.7': (None, of_ours(order=0, prefilter_sigma=0.7, **LEAST_SQUARES)),
    'xcorr, least squares 1': (None, of_ours(**LEAST_SQUARES)),
    'xcorr, least squares 1, weight 10': (None, of_ours(weight_sigma=10, **LEAST_SQUARES)),
    'xcorr, least squares 2, weight 10': (None, of_ours(order=2, weight_sigma=10, **LEAST_SQUARES)),
    'OpenPIV, 2w-w-w with deformation': ('openpiv', openpiv_passes),
    'OpenPIV, w in a larger one': ('openpiv', openpiv_search),
    'OpenCV, matchTemplate and gauss': ('cv2', opencv_match),
    'OpenCV, DIS medium': ('cv2', opencv_dis),
}


@dataclasses.dataclass(frozen=True)
class Pair:
    """Two images, the displacement of what they show as two planes, and whether that is given for the middle of the
    way or for the place in the first image."""

    case: str
    before: np.ndarray
    after: np.ndarray
    planes: np.ndarray
    of_middle: bool

    def truth(self, x, y, of_middle):
        """Of the ways that begin at places, or whose middles are there."""
        moved = self._at(x, y)
        share = 0.5 * (int(self.of_middle) - int(of_middle))
        for _ in range(20 if share else 0):
            moved = self._at(x + share * moved[0], y + share * moved[1])
        return moved

    def _at(self, x, y):
        """Between pixels bilinearly."""
        height, width = self.planes.shape[1:]
        column, row = np.clip(x.astype(int), 0, width - 2), np.clip(y.astype(int), 0, height - 2)
        across, down = x - column, y - row
        upper, lower = ((1 - across) * self.planes[:, line, column] + across * self.planes[:, line, column + 1]
                        for line in (row, row + 1))
        return (1 - down) * upper + down * lower


class Errors:
    """Of one program in one case."""

    def __init__(self):
        self.squares, self.means, self.count, self.outliers, self.seconds, self.pairs = 0.0, [0.0], 0, 0, 0.0, 0

    def add(self, field, pair, margin, seconds):
        """Gives the pair's columns of the CSV from the displacement on."""
        x, y, dx, dy = (np.asarray(each, float).ravel() for each in field[:4])
        height, width = pair.before.shape
        inside = (x > margin) & (x < width - margin) & (y > margin) & (y < height - margin)
        x, y = x[inside], y[inside]
        truth = pair.truth(x, y, field[4])
        error = np.stack([dx, dy])[:, inside] - truth
        good = error[:, np.hypot(*error) < 1]  # not what is no number
        self.count += error.shape[1]
        self.outliers += error.shape[1] - good.shape[1]
        self.squares += float(np.sum(good ** 2))
        if good.size:
            self.means += list(np.abs(good.mean(1)))
        self.seconds += seconds
        self.pairs += 1
        numbers = truth.mean(1), *((good.mean(1), np.sqrt((good ** 2).mean(1))) if good.size else 2 * [[np.nan] * 2])
        return [f'{each:.5f}' for each in np.ravel(numbers)] + [error.shape[1], error.shape[1] - good.shape[1]]

    def columns(self):
        rms = np.sqrt(self.squares / (2 * max(1, self.count - self.outliers)))
        return (f'{rms:.4f}', f'{max(self.means):.4f}', f'{100 * self.outliers / max(1, self.count):.2f} %',
                f'{1000 * self.seconds / self.pairs:.0f}')


def read_pgm(path):
    magic, size, _, pixels = path.read_bytes().split(b'\n', 3)
    assert magic == b'P5', path
    return np.frombuffer(pixels, np.uint8).reshape([int(each) for each in size.split()][::-1])


def available(module):
    if module is None:
        return True
    try:
        __import__(module)
    except ImportError as error:
        print(f'without {module}: {error}')
        return False
    return True


def number_in(path):
    return int(path.name.rsplit('-', 2)[1])


def drawn_pairs(folder):
    """Of field_bench."""
    for path in sorted(folder.glob('*-before.pgm'), key=lambda path: (path.name.rsplit('-', 2)[0], number_in(path))):
        stem = str(path)[:-len('before.pgm')]
        before, after = read_pgm(path), read_pgm(pathlib.Path(f'{stem}after.pgm'))
        planes = np.fromfile(f'{stem}truth.f32', np.float32).reshape(2, *before.shape)
        yield Pair(path.name.rsplit('-', 2)[0], before, after, planes.astype(float), False)


def read_flo(path):
    """A flow of Middlebury's format: a magic number, width, height, and the two components of each pixel."""
    magic, = np.fromfile(path, np.float32, 1)
    assert magic == np.float32(202021.25), path
    width, height = np.fromfile(path, np.int32, 2, offset=4)
    return np.fromfile(path, np.float32, offset=12).reshape(height, width, 2).transpose(2, 0, 1)


def given_pairs(folder):
    """NAME_NUMBER_img1.tif, NAME_NUMBER_img2.tif and NAME_NUMBER_flow.flo, as the PIV dataset of Cai et al. (2019) has
    them, whose truth is of the middle of the way."""
    from PIL import Image  # pylint: disable=import-outside-toplevel
    for path in sorted(folder.glob('*_img1.tif')):
        stem = str(path)[:-len('_img1.tif')]
        before, after = (np.asarray(Image.open(f'{stem}_img{number}.tif').convert('L')) for number in (1, 2))
        yield Pair(path.name.rsplit('_', 2)[0], before, after, read_flo(f'{stem}_flow.flo').astype(float), True)


def measure(pairs, layout, programs, device, table):
    """Prints a line for each program of each case, whose pairs come one after another, and writes one for each pair."""
    for case, of_case in itertools.groupby(pairs, lambda pair: pair.case):
        errors = {name: Errors() for name in programs}
        for pair in of_case:
            for name, (_, program) in programs.items():
                with contextlib.redirect_stdout(None):  # OpenPIV talks
                    if not errors[name].pairs:
                        program(pair.before, pair.after, layout, device)  # loads what it needs
                    start = time.process_time()
                    field = program(pair.before, pair.after, layout, device)
                row = errors[name].add(field, pair, layout.margin, time.process_time() - start)
                table.writerow([case, name, *row])
        for name, each in errors.items():
            print('| ' + ' | '.join((case, name, *each.columns())) + ' |', flush=True)


def versions():
    """Of what is compared with, where it is."""
    for name, package in (('OpenPIV', 'openpiv'), ('OpenCV', 'opencv-python-headless')):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            yield f'{name} {importlib.metadata.version(package)}'


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument('--field-bench', help='the program, which draws the pairs')
    source.add_argument('--pairs', type=pathlib.Path, help='a folder of given pairs')
    parser.add_argument('--filter', default='', help='only cases whose name has it')
    parser.add_argument('--device', default='cpu', help='of ours; default cpu')
    parser.add_argument('--csv', default=os.devnull, metavar='FILE', help='write a row for each pair and program there')
    options = parser.parse_args(arguments)
    programs = {name: program for name, program in PROGRAMS.items() if available(program[0])}
    print('| case | program | rms, px | greatest mean, px | outliers | CPU ms |')
    print('| --- | --- | ---: | ---: | ---: | ---: |')
    with open(options.csv, 'w', encoding='utf-8') as file, tempfile.TemporaryDirectory() as name:
        what = 'given pairs' if options.pairs else 'pairs of field_bench'
        file.write(f'# {", ".join([machine("cpu", None), *versions()])}; field_peers.py: {what}, mean displacements '
                   'and errors in pixels\n')
        table = csv.writer(file, lineterminator='\n')
        table.writerow(COLUMNS)
        folder = options.pairs or pathlib.Path(name)
        if options.pairs:
            pairs = (pair for pair in given_pairs(folder) if options.filter in pair.case)
        else:
            subprocess.run([options.field_bench, f'--write={folder}', f'--filter={options.filter}'], check=True)
            pairs = drawn_pairs(folder)
        measure(pairs, GIVEN if options.pairs else DRAWN, programs, options.device, table)


if __name__ == '__main__':
    main()
