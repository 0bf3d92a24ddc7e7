#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""How exact displacement fields are beside OpenPIV and OpenCV, on the pairs of field_bench, in one run.

    field_peers.py --field-bench=build/bench/field_bench [--filter=TEXT] [--device=cpu]

Needs the package xcorr and NumPy; OpenPIV and OpenCV are used where they are (field_peers.sh installs all of them).
Prints for each case and program the root of the mean square of a component's error and its greatest mean over the pairs,
without vectors that are off by a pixel or more, whose share is in the next column; windows are of 32x32 or 33x33 pixels
every 16. Time is the processor's for a pair, of all threads.
"""
import argparse
import contextlib
import pathlib
import subprocess
import tempfile
import time

import numpy as np

import xcorr

WINDOW, SPACING, MARGIN, RANGE = 32, 16, 48, 16


def of_ours(**settings):
    def measure(before, after, device):
        vectors = xcorr.FieldMatcher(before, device=device, spacing=SPACING, search_range=RANGE, **settings).match(after)
        return vectors["x"], vectors["y"], vectors["dx"], vectors["dy"], False
    return measure


def openpiv_passes(before, after, _):
    """Three passes with deformation. Its vectors belong to the middle of the way, its y points upwards and its places
    are edges of pixels."""
    from openpiv import windef  # pylint: disable=import-outside-toplevel
    settings = windef.PIVSettings()
    settings.windowsizes = (2 * WINDOW, WINDOW, WINDOW)
    settings.overlap = (WINDOW, WINDOW - SPACING, WINDOW - SPACING)
    settings.num_iterations = 3
    settings.sig2noise_method = 'peak2mean'
    settings.show_plot = settings.show_all_plots = False
    x, y, dx, dy, _ = windef.simple_multipass(before.astype(float), after.astype(float), settings)
    return x - 0.5, before.shape[0] - y - 0.5, dx, -dy, True


def openpiv_search(before, after, _):
    """One pass, windows in larger ones."""
    from openpiv import pyprocess  # pylint: disable=import-outside-toplevel
    area = WINDOW + 2 * RANGE
    dx, dy = pyprocess.extended_search_area_piv(
        before.astype(np.int32), after.astype(np.int32), window_size=WINDOW, search_area_size=area,
        overlap=area - SPACING, normalized_correlation=True, correlation_method='circular', sig2noise_method=None,
        subpixel_method='gaussian')[:2]
    x, y = pyprocess.get_coordinates(before.shape, area, area - SPACING, center_on_field=False)
    return x - 0.5, y - 0.5, np.ma.filled(dx, np.nan), np.ma.filled(dy, np.nan), False


def corners(shape):
    return np.meshgrid(*(np.arange(RANGE, length - WINDOW - RANGE, SPACING) for length in shape[::-1]))


def opencv_match(before, after, _):
    """matchTemplate in each window's range, and a Gauss curve through three scores along each axis."""
    import cv2  # pylint: disable=import-outside-toplevel
    left, top = corners(before.shape)
    found = np.full((2, *left.shape), np.nan)
    for place in np.ndindex(left.shape):
        x, y = left[place], top[place]
        scores = cv2.matchTemplate(after[y - RANGE:y + WINDOW + RANGE, x - RANGE:x + WINDOW + RANGE],
                                   before[y:y + WINDOW, x:x + WINDOW], cv2.TM_CCOEFF_NORMED)
        row, column = np.unravel_index(scores.argmax(), scores.shape)
        if 0 < row < 2 * RANGE and 0 < column < 2 * RANGE:
            logs = np.log(np.maximum(scores[row - 1:row + 2, column - 1:column + 2], 1e-3))
            found[(0, *place)] = column - RANGE + vertex(*logs[1])
            found[(1, *place)] = row - RANGE + vertex(*logs[:, 1])
    return left + (WINDOW - 1) / 2, top + (WINDOW - 1) / 2, *found, False


def vertex(before, here, after):
    """Of a parabola."""
    curvature = before - 2 * here + after
    return 0.5 * (before - after) / curvature if curvature < 0 else 0


def opencv_dis(before, after, _):
    """Dense optical flow, the mean over each window."""
    import cv2  # pylint: disable=import-outside-toplevel
    flow = cv2.DISOpticalFlow_create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM).calc(before, after, None)
    left, top = corners(before.shape)
    means = cv2.blur(flow, (WINDOW, WINDOW), anchor=(0, 0))[top, left]
    return left + (WINDOW - 1) / 2, top + (WINDOW - 1) / 2, means[..., 0], means[..., 1], False


LEAST_SQUARES = {'windows': (33,), 'subpixel': 'least-squares'}
PROGRAMS = {  # name: (what it needs, f(before, after, device) -> x, y, dx, dy, whether they are of the middle of the way)
    'xcorr, gauss': (None, of_ours()),
    'xcorr, least squares 0': (None, of_ours(order=0, **LEAST_SQUARES)),
    'xcorr, least squares 1': (None, of_ours(**LEAST_SQUARES)),
    'xcorr, least squares 1, weight 10': (None, of_ours(weight_sigma=10, **LEAST_SQUARES)),
    'xcorr, least squares 2, weight 10': (None, of_ours(order=2, weight_sigma=10, **LEAST_SQUARES)),
    'OpenPIV, 64-32-32 with deformation': ('openpiv', openpiv_passes),
    'OpenPIV, 32 in 64': ('openpiv', openpiv_search),
    'OpenCV, matchTemplate and gauss': ('cv2', opencv_match),
    'OpenCV, DIS medium': ('cv2', opencv_dis),
}


class Truth:
    """The displacement of what a picture shows at any place."""

    def __init__(self, path, shape):
        self._planes = np.fromfile(path, np.float32).reshape(2, *shape).astype(float)

    def at(self, x, y):
        """Between pixels bilinearly."""
        height, width = self._planes.shape[1:]
        column, row = np.clip(x.astype(int), 0, width - 2), np.clip(y.astype(int), 0, height - 2)
        across, down = x - column, y - row
        upper, lower = ((1 - across) * self._planes[:, line, column] + across * self._planes[:, line, column + 1]
                        for line in (row, row + 1))
        return (1 - down) * upper + down * lower

    def halfway(self, x, y):
        """Of the ways whose middles are at places."""
        moved = self.at(x, y)
        for _ in range(20):
            moved = self.at(x - moved[0] / 2, y - moved[1] / 2)
        return moved


class Errors:
    """Of one program in one case."""

    def __init__(self):
        self.squares, self.means, self.count, self.outliers, self.seconds, self.pairs = 0.0, [0.0], 0, 0, 0.0, 0

    def add(self, field, truth, shape, seconds):
        x, y, dx, dy = (np.asarray(each, float).ravel() for each in field[:4])
        inside = (x > MARGIN) & (x < shape[1] - MARGIN) & (y > MARGIN) & (y < shape[0] - MARGIN)
        x, y = x[inside], y[inside]
        error = np.stack([dx, dy])[:, inside] - (truth.halfway if field[4] else truth.at)(x, y)
        good = error[:, np.hypot(*error) < 1]  # not what is no number
        self.count += error.shape[1]
        self.outliers += error.shape[1] - good.shape[1]
        self.squares += float(np.sum(good ** 2))
        if good.size:
            self.means += list(np.abs(good.mean(1)))
        self.seconds += seconds
        self.pairs += 1

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


def measure(folder, case, programs, device):
    """Prints a line for each program."""
    errors = {name: Errors() for name in programs}
    for path in sorted(folder.glob(f'{case}-*-before.pgm')):
        stem = str(path)[:-len('before.pgm')]
        before, after = read_pgm(path), read_pgm(pathlib.Path(f'{stem}after.pgm'))
        truth = Truth(f'{stem}truth.f32', before.shape)
        for name, (_, program) in programs.items():
            with contextlib.redirect_stdout(None):  # OpenPIV talks
                if not errors[name].pairs:
                    program(before, after, device)  # loads what it needs
                start = time.process_time()
                field = program(before, after, device)
            errors[name].add(field, truth, before.shape, time.process_time() - start)
    for name, each in errors.items():
        print('| ' + ' | '.join((case, name, *each.columns())) + ' |', flush=True)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--field-bench', required=True, help='the program, which draws the pairs')
    parser.add_argument('--filter', default='', help='only cases whose name has it')
    parser.add_argument('--device', default='cpu', help='of ours; default cpu')
    options = parser.parse_args(arguments)
    programs = {name: program for name, program in PROGRAMS.items() if available(program[0])}
    print('| case | program | rms, px | greatest mean, px | outliers | CPU ms |')
    print('| --- | --- | ---: | ---: | ---: | ---: |')
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([options.field_bench, f'--write={folder}', f'--filter={options.filter}'], check=True)
        for case in sorted({path.name.rsplit('-', 2)[0] for path in folder.glob('*-before.pgm')}):
            measure(folder, case, programs, options.device)


if __name__ == '__main__':
    main()
