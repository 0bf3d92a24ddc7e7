#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""How xcorr's functions for Python compare with SciPy's and OpenCV's on this CPU: a table of ratios.

    python_peers.py [--output=FILE] [--seconds=0.1] [--only=correlate|match] [--page=FILE]

A ratio is the peer's time over ours: above 1 ours is quicker. Programs take turns, in the other order every second
turn, and the least time counts, to which other programs only add. Correlations are compared with the faster of SciPy's
two, `correlate2d` where that makes up to 1e8 products and `fftconvolve`; matchTemplate with cv2's, on noise, whose
content does not matter to either. With --page the tables of docs/python.md are replaced by these.
"""
import argparse
import csv
import math
import os
import pathlib
import platform
import re
import statistics
import time

import cv2
import numpy
import scipy
import scipy.signal

import xcorr

IMAGES, SIDES = (256, 512, 1024, 2048), (8, 32, 128, 512)
TYPES = ('float64', 'float32', 'int32', 'complex128')
FRAMES, TEMPLATES = ((640, 480), (1920, 1080)), (16, 64, 256)
METHODS = ('SQDIFF', 'SQDIFF_NORMED', 'CCORR', 'CCORR_NORMED', 'CCOEFF', 'CCOEFF_NORMED')
COLUMNS = ('function', 'type', 'method', 'image', 'template', 'xcorr_ms', 'peer_ms', 'peer', 'ratio')
MOST_DIRECT = 1e8  # products, for which SciPy needs some tenths of a second
LEAST_TURNS = 5


def in_turn(runs, seconds):
    """The least time of each, in milliseconds."""
    times = {name: [] for name in runs}
    for run in runs.values():
        run()
    begin = time.perf_counter()
    while len(times[next(iter(runs))]) < LEAST_TURNS or time.perf_counter() - begin < seconds:
        order = list(runs.items())
        for name, run in order if len(times[order[0][0]]) % 2 else reversed(order):
            start = time.perf_counter()
            run()
            times[name].append(1000 * (time.perf_counter() - start))
    return {name: min(of_one) for name, of_one in times.items()}


def row(function, type_, method, image, template, runs, seconds):
    times = in_turn(runs, seconds)
    ours = times.pop('xcorr')
    peer = min(times, key=times.get)
    return dict(zip(COLUMNS, (function, type_, method, image, template, f'{ours:.3f}', f'{times[peer]:.3f}', peer,
                              f'{times[peer] / ours:.2f}')))


def numbers(shape, type_, generator):
    if type_ == 'int32':
        return generator.integers(-30000, 30000, shape, type_)
    return (generator.random(shape) - 0.5 + (1j * generator.random(shape) if type_[0] == 'c' else 0)).astype(type_)


def correlations(seconds):
    generator = numpy.random.default_rng(1)
    for type_ in TYPES:
        for size in IMAGES:
            for side in SIDES:
                if side > size:
                    continue
                a, b = numbers((size, size), type_, generator), numbers((side, side), type_, generator)
                runs = {'xcorr': lambda: xcorr.correlate2d(a, b, 'same'),
                        'fftconvolve': lambda: scipy.signal.fftconvolve(a, b[::-1, ::-1].conj(), 'same')}
                if (size * side) ** 2 <= MOST_DIRECT:
                    runs['correlate2d'] = lambda: scipy.signal.correlate2d(a, b, 'same')
                yield row('correlate2d', type_, 'same', f'{size}x{size}', f'{side}x{side}', runs, seconds)


def matches(seconds):
    generator = numpy.random.default_rng(2)
    for type_ in ('uint8', 'float32'):
        for width, height in FRAMES:
            image = generator.integers(0, 256, (height, width)).astype(type_)
            for side in TEMPLATES:
                templ = image[50:50 + side, 70:70 + side].copy()
                for method in METHODS:
                    number = getattr(cv2, 'TM_' + method)
                    runs = {'xcorr': lambda: xcorr.matchTemplate(image, templ, number),
                            'cv2': lambda: cv2.matchTemplate(image, templ, number)}
                    yield row('matchTemplate', type_, method, f'{width}x{height}', f'{side}x{side}', runs, seconds)


def machine():
    """Of the processor, the cores that this process may use and what runs on them, and what was compared."""
    model = re.search(r'^model name\s*: (.*)$', pathlib.Path('/proc/cpuinfo').read_text(), re.MULTILINE)
    return (f'{model[1] if model else platform.machine()}, {len(os.sched_getaffinity(0))} cores, '
            f'load {os.getloadavg()[1]:.0f} with what else ran in five minutes; xcorr {xcorr.__version__}, '
            f'NumPy {numpy.__version__}, SciPy {scipy.__version__}, OpenCV {cv2.__version__}')


def mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios)))


def summary(rows, names, across):
    """A table in Markdown: of each group of names the least, the geometric mean and the greatest ratio, by a column."""
    columns = list(dict.fromkeys(each[across] for each in rows))
    lines = [[*names, *(f'{across} {column}' for column in columns)], ['---'] * (len(names) + len(columns))]
    for group in dict.fromkeys(tuple(each[name] for name in names) for each in rows):
        cells = []
        for column in columns:
            ratios = [float(each['ratio']) for each in rows
                      if tuple(each[name] for name in names) == group and each[across] == column]
            several = f'{min(ratios):.2f}, **{mean(ratios):.2f}**, {max(ratios):.2f}' if len(ratios) > 1 else ''
            cells.append(several or ''.join(f'{ratio:.2f}' for ratio in ratios))
        lines.append([*group, *cells])
    return '\n'.join('| ' + ' | '.join(line) + ' |' for line in lines)


def page(rows):
    """What docs/python.md has between its marks."""
    parts = [f'On {machine()}:']
    for function, names, across in (('correlate2d', ('type', 'image'), 'template'),
                                    ('matchTemplate', ('type', 'method'), 'image')):
        chosen = [each for each in rows if each['function'] == function]
        if chosen:
            all_ratios = [float(each['ratio']) for each in chosen]
            parts += [f'`{function}`: {mean(all_ratios):.2f} in the geometric mean of {len(chosen)} cells, the least '
                      f'{min(all_ratios):.2f}', summary(chosen, names, across)]
    return '\n\n'.join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--output', type=pathlib.Path)
    parser.add_argument('--page', type=pathlib.Path)
    parser.add_argument('--seconds', type=float, default=0.1)
    parser.add_argument('--only', choices=('correlate', 'match'))
    options = parser.parse_args()
    rows = []
    for name, measure in (('match', matches), ('correlate', correlations)):
        if options.only in (None, name):
            for each in measure(options.seconds):
                rows.append(each)
                print(*each.values(), sep='\t', flush=True)
    text = page(rows)
    print(text)
    if options.output:
        with open(options.output, 'w', newline='', encoding='utf-8') as file:
            file.write(f'# {machine()}\n')
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)
    if options.page:
        whole = options.page.read_text(encoding='utf-8')
        marks = '<!-- bench/python_peers.py -->', '<!-- end -->'
        begin, end = whole.index(marks[0]) + len(marks[0]), whole.index(marks[1])
        options.page.write_text(whole[:begin] + '\n' + text + '\n' + whole[end:], encoding='utf-8')


if __name__ == '__main__':
    main()
