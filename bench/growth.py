#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""How the time of a match grows, a formula for it and what it takes at least: what docs/performance/growth.md says.

    growth.py measure --output bench/results/MACHINE-growth.csv     with match_bench and tracker_bench
    growth.py formula CSV                                           the factors of the page; needs SciPy
    growth.py floor CSV                                             of an H200: measured times beside the least

`measure` goes through the pixels of a frame, the size of a template, their number, the range of angles and the number
of targets, each with the others fixed, and through matches that mix them. Beside other programs, --turns goes through
all of it several times and keeps the least of each time. The formula is judged by some matches that it is not fitted
to. Frames show photographs; each template has to be found where it was cut out.
"""
import argparse
import csv
import functools
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

from compare import machine, ours, say
from peers.problem import Problem

COLUMNS = ('sweep', 'backend', 'device', 'kernel', 'width', 'height', 'side', 'templates', 'degrees', 'targets',
           'latency_ms', 'stream_ms', 'processor_ms')
TIMES = COLUMNS[-3:]
MATCH = COLUMNS[4:-3]  # what is matched
# What formulas say. Other programs take a CPU's time; what a frame takes of all its cores they hardly change.
TIME = {'cuda': 'stream_ms', 'cpu': 'processor_ms'}
HD = (1920, 1080)
FORMULA_SWEEPS = ('frame', 'side', 'count', 'mixed', 'other')  # the last is not fitted to
SIDES = {'cuda': (8, 16, 24, 32, 48, 64, 80, 96, 128, 160, 192, 256),
         'cpu': (8, 16, 24, 32, 48, 64, 96, 128, 192, 256)}
COUNTS = {'cuda': (1, 2, 4, 8, 16, 32, 64, 128), 'cpu': (1, 2, 4, 8, 16)}
FRAMES = {'cuda': ((320, 240), (640, 480), (1280, 720), HD, (2560, 1440), (3840, 2160), (7680, 4320)),
          'cpu': ((320, 240), (640, 480), (1280, 720), HD, (3840, 2160))}
ANGLES = (10, 45, 90, 180, 360)
MIXED = {'cuda': (*((*HD, 16, count) for count in (8, 32, 128)),
                  *((1280, 720, 32, count) for count in (4, 16, 64)),
                  *((*HD, 256, count) for count in (2, 8, 32)),
                  (640, 480, 16, 32), (1280, 720, 128, 2), (2560, 1440, 48, 64), (3840, 2160, 96, 4),
                  (3840, 2160, 16, 1), (1024, 768, 40, 20)),
         'cpu': ((640, 480, 16, 4), (*HD, 16, 8), (1280, 720, 32, 2), (1024, 768, 40, 3), (2560, 1440, 48, 1),
                 *((*HD, 96, count) for count in (2, 4)), *((640, 480, 128, count) for count in (1, 4)),
                 (320, 240, 96, 4), (1280, 720, 128, 2), (3840, 2160, 128, 1), (1280, 720, 192, 4))}
OTHERS = {'cuda': ((640, 480, 64, 16), (*HD, 24, 48), (1280, 720, 96, 8), (2560, 1440, 32, 4), (3840, 2160, 64, 32),
                   (1280, 720, 200, 3), (*HD, 112, 1), (1024, 768, 48, 1)),
          'cpu': ((800, 600, 32, 2), (1280, 720, 64, 2), (640, 480, 64, 8), (1024, 768, 56, 6), (2560, 1440, 24, 1),
                  (1440, 1080, 64, 3), (1600, 900, 20, 4), (960, 540, 72, 5), (3200, 1800, 32, 1), (800, 600, 96, 2),
                  (720, 576, 100, 6), (1600, 1200, 112, 1), (2048, 1536, 128, 1), (*HD, 160, 2), (1280, 720, 256, 3))}
LEAST_TURNED = 0.9  # an image at an angle near by is found, too, with a little less than 1


# ---- measure ------------------------------------------------------------------------------------------


def problems(backend):
    """(sweep, problem, degrees). What stands in several sweeps comes in the first."""
    rows = [('frame', (*frame, 64, 1), 0) for frame in FRAMES[backend]]
    rows += [('side', (*HD, side, 1), 0) for side in SIDES[backend]]
    rows += [('count', (*HD, 64, count), 0) for count in COUNTS[backend]]
    rows += [('angles', (*HD, 64, 1), degrees) for degrees in ANGLES]
    rows += [('mixed', mixed, 0) for mixed in MIXED[backend]]
    rows += [('other', other, 0) for other in OTHERS[backend]]
    first = {}
    for sweep, numbers, degrees in rows:
        first.setdefault((numbers, degrees), sweep)
    return [(sweep, Problem(*numbers), degrees) for (numbers, degrees), sweep in first.items()]


def matches(options):
    """Rows, and whether what was found is right."""
    for sweep, problem, degrees in problems(options.backend):
        turned = (f'--angles=0,{degrees}',) if degrees else ()
        with tempfile.TemporaryDirectory() as folder:
            least = LEAST_TURNED if degrees else 1
            row, errors = ours(options, problem, pathlib.Path(folder), *turned, least=least)
        yield {**row, 'sweep': sweep, 'degrees': degrees}, errors


def targets(options):
    done = subprocess.run([options.tracker_bench, f'--backend={options.backend}', f'--seconds={options.seconds}'],
                          stdout=subprocess.PIPE, text=True, check=True)
    for row in csv.DictReader(done.stdout.splitlines()):
        # Every second detection is learnt.
        frame_ms = float(row['locate_ms']) + float(row['train_ms']) / 2
        yield {**row, 'sweep': 'targets', 'width': HD[0], 'height': HD[1], 'side': 64,
               'latency_ms': row['locate_ms'], 'stream_ms': f'{frame_ms:.4f}'}, []


def take_turn(options, least):
    """Goes through all. Returns how many results were wrong. `least`: {what was matched: row}, of the turns so far."""
    wrong = 0
    for source in (matches, targets):
        for row, errors in source(options):
            say(' '.join(str(row.get(name, '')) for name in COLUMNS))
            for error in errors[:3]:
                say(f'  WRONG: {error}')
            wrong += bool(errors)
            if errors:
                continue
            known = least.setdefault(tuple(row.get(name) for name in COLUMNS if name not in TIMES), row)
            known.update({name: min(known[name], row[name], key=float) for name in TIMES})
    return wrong


def write(options, rows, turns):
    with open(options.output, 'w', encoding='utf-8') as file:
        device = rows[0]['device'] if rows else 'unknown'
        file.write(f'# {machine(options.backend, device)}; {options.note}'
                   f'growth.py measure --turns={turns} --seconds={options.seconds:g}\n')
        table = csv.DictWriter(file, COLUMNS, restval='', extrasaction='ignore', lineterminator='\n')
        table.writeheader()
        table.writerows(rows)


def measure(options):
    """The exit status: 1 where results were wrong. What was measured stays when a run is cut short."""
    least, wrong = {}, 0
    for turn in range(options.turns):
        wrong += take_turn(options, least)
        write(options, list(least.values()), turn + 1)
    return 1 if wrong else 0


# ---- formula ------------------------------------------------------------------------------------------


def rows_of(path):
    """(what the first line says of the machine, the rows)."""
    lines = pathlib.Path(path).read_text(encoding='utf-8').splitlines()
    return lines[0].lstrip('# '), list(csv.DictReader(line for line in lines if not line.startswith('#')))


def area(side, *widths):
    """Of a template, in 4096 pixels, as wide as kernels make it: the next width or, past these, multiple of 16."""
    width = next((width for width in widths if width >= side), -(-side // 16) * 16)
    return side * width / 4096


def tiles(side):
    """Products of tiles that AMX takes for 256 places of a template: kernels/cpu/correlate/amx_piece.hpp."""
    across, down = -(-(side + 15) // 64) * (side + 1), -(-side // 64) * (side + 15)
    return min(across, down)


def beyond_cache(millions, each):
    """Elements of so many bytes that the second-level caches of two cores, 4 MiB, have no room for."""
    return max(0, millions - 4 * 2**20 / 1e6 / each)


class Way:
    """A way to match, in which time is a sum of terms; each with a factor of its own that is fitted."""

    def __init__(self, name, kernel, is_able, terms):
        self.name, self.kernel, self.is_able, self.terms = name, kernel, is_able, terms

    def does(self, row):
        return re.match(self.kernel, row['kernel']) is not None and self.is_able(*numbers(row))


def numbers(row):
    """Millions of pixels and of places, templates, their side."""
    width, height, side = (int(row[name]) for name in ('width', 'height', 'side'))
    return width * height / 1e6, places(width, height, side) / 1e6, int(row['templates']), side


def places(width, height, side):
    return (width - side + 1) * (height - side + 1)


def groups(n):
    """Templates, as there are in whole groups of 32."""
    return -(-n // 32) * 32


WAYS = {
    'cuda': (
        Way('one template', 'tensor_match', lambda p, v, n, s: n == 1 and s <= 128,
            lambda p, v, n, s: (1, p, v * area(s))),
        Way('one after the other', 'tensor_match', lambda p, v, n, s: n > 1 and s <= 128,
            lambda p, v, n, s: (1, n, n * v, n * v * area(s))),
        Way('in groups of 32', 'tensor_bank', lambda p, v, n, s: n > 1 and s <= 64,
            lambda p, v, n, s: (1, groups(n), groups(n) * v, groups(n) * v * area(s, 32, 64))),
        Way('by FFT', 'fft', lambda p, v, n, s: True, lambda p, v, n, s: (1, n * p)),
    ),
    'cpu': (
        Way('by AMX', 'amx', lambda p, v, n, s: 16 <= s <= 73,
            lambda p, v, n, s: (p, n * v, n * beyond_cache(v, 4), n * v * tiles(s))),
        Way('by FFT of vectors', 'fft', lambda p, v, n, s: s > 73,
            lambda p, v, n, s: (p, n * p, n * beyond_cache(p, 16))),
    ),
}


def fitted(terms, times):
    """The factors, none below 0, by which no time is further off, in its own size, than one has to be."""
    from scipy.optimize import linprog  # pylint: disable=import-outside-toplevel
    shares = np.array(terms, float) / np.array(times)[:, None]
    count, factors = shares.shape
    bound = np.ones((count, 1))
    above, below = np.hstack([shares, -bound]), np.hstack([-shares, -bound])
    least = linprog([0] * factors + [1], np.vstack([above, below]), np.repeat([1, -1], count), bounds=(0, None))
    return least.x[:-1]


def time_of(row):
    """Measured, microseconds."""
    return 1000 * float(row[TIME[row['backend']]])


def microseconds(factors, row):
    """What the formula says: the least of the ways that can do it. `factors`: of the ways, in their order."""
    return min(sum(term * factor for term, factor in zip(way.terms(*numbers(row)), of_way))
               for way, of_way in zip(WAYS[row['backend']], factors) if way.is_able(*numbers(row)))


def largest_error(factors, rows):
    """(by which share of a measured time the formula is off at most, in which row)."""
    return max(((microseconds(factors, row) / time_of(row) - 1, row) for row in rows), key=lambda entry: abs(entry[0]))


def rows_of_formula(path):
    """(what the first line says of the machine, the rows that a way of the formula is for)."""
    machine_name, rows = rows_of(path)
    return machine_name, [row for row in rows if row['sweep'] in FORMULA_SWEEPS and
                          any(way.is_able(*numbers(row)) for way in WAYS[row['backend']])]


def short(factor):
    """As the page says it: three digits."""
    return f'{float(f"{factor:.3g}"):g}'


def formula(options):
    machine_name, rows = rows_of_formula(options.csv)
    print(machine_name)
    factors = []
    for way in WAYS[rows[0]['backend']]:
        known = [row for row in rows if row['sweep'] != 'other' and way.does(row)]
        factors.append(fitted([way.terms(*numbers(row)) for row in known], [time_of(row) for row in known]))
        print(f'{way.name}:', *map(short, factors[-1]))
    for is_other, name in ((False, 'fitted to'), (True, 'not fitted to')):
        judged = [row for row in rows if (row['sweep'] == 'other') == is_other]
        error, row = largest_error(factors, judged)
        print(f'{len(judged)} matches that it was {name}: {100 * error:+.0f} % at most '
              f'({row["templates"]} of {row["side"]}x{row["side"]} in {row["width"]}x{row["height"]})')
    return 0


# ---- floor --------------------------------------------------------------------------------------------

RATES = {  # an H200's, a second
    'products': 1979e12 / 2,  # of bytes, dense, by the data sheet, as the next two
    'flops': 67e12,  # of float32
    'bytes': 4.8e12,  # of its memory
    'instructions': 132 * 4 * 1.98e9,  # of warps: one a cycle by each of four schedulers of its multiprocessors
}
# So many times smaller are the frame and the template in which all angles are searched, in steps that move the
# template's rim there by a pixel: kernels/match/poses/grid.cpp.
COARSE = 4
# A target's window, kernels/stages/tracker: 40x40 cells of 32 channels, the spectrum of these, two of which are a
# filter and six of which it has learnt from. A frame searches three windows and learns half of one.
WINDOW_BYTES, SPECTRUM_BYTES = 40 * 40 * 32 * 4, 40 * 21 * 32 * 8
SEARCHED, LEARNT = 3, 1 / 2
FILTER_SPECTRA, LEARNT_SPECTRA = 2, 6
WINDOW_INSTRUCTIONS = (27e6 + 31e6) / (64 * 3)  # to cut one and make its channels: docs/performance/tracking.md


def work_of_match(row):
    pixels, windows, count, side = numbers(row)
    if row['kernel'] == 'fft':  # of the frame, and back for each template
        points = 1e6 * pixels
        return {'flops': (1 + count) * 2.5 * points * math.log2(points), 'bytes': points}
    return {'products': 1e6 * windows * count * side**2, 'bytes': 1e6 * pixels}


def poses(degrees, side):
    """Images at angles that the coarse search has. All round they are a multiple of four."""
    steps = degrees / (COARSE * math.degrees(math.atan(2 / side)))
    return 4 * math.ceil(steps / 4) if degrees == 360 else math.ceil(steps) + 1


def work_of_angles(row):
    width, height, side = (int(row[name]) for name in ('width', 'height', 'side'))
    coarse = [number // COARSE for number in (width, height, side)]
    return {'products': poses(int(row['degrees']), side) * places(*coarse) * coarse[-1]**2, 'bytes': width * height}


def work_of_targets(row):
    """Learning reads a filter and what it has learnt from, and writes the filter and what is new."""
    searches = SEARCHED * WINDOW_BYTES + FILTER_SPECTRA * SPECTRUM_BYTES
    learns = WINDOW_BYTES + (2 * FILTER_SPECTRA + LEARNT_SPECTRA + 1) * SPECTRUM_BYTES
    count = int(row['targets'])
    return {'bytes': count * (searches + LEARNT * learns),
            'instructions': count * (SEARCHED + LEARNT) * WINDOW_INSTRUCTIONS}


def floor_of(row):
    """(milliseconds that an H200 takes at least, what takes them)."""
    work = {'angles': work_of_angles, 'targets': work_of_targets}.get(row['sweep'], work_of_match)(row)
    return max((1000 * amount / RATES[kind], kind) for kind, amount in work.items())


def floor(options):
    machine_name, rows = rows_of(options.csv)
    print(machine_name)
    print('sweep', *MATCH, 'stream_ms', 'floor_ms', 'bound_by', sep=',')
    for row in rows:
        least_ms, kind = floor_of(row)
        print(row['sweep'], *(row[name] for name in MATCH), row['stream_ms'], f'{least_ms:.2g}', kind, sep=',')
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest='command', required=True)
    one = commands.add_parser('measure')
    add = functools.partial(one.add_argument, metavar='')
    add('--match-bench', default='build/bench/match_bench')
    add('--tracker-bench', default='build/bench/tracker_bench')
    add('--output', required=True, help='CSV file')
    add('--backend', choices=('cuda', 'cpu'), default='cuda' if os.path.exists('/proc/driver/nvidia') else 'cpu',
        help='cuda or cpu; default: cuda where there is a driver')
    add('--kernel', default='auto', help="match()'s correlate variant")
    add('--seconds', type=float, default=0.1, help='time for each figure, default 0.1')
    add('--turns', type=int, default=1, help='how often all is measured; of each time the least counts; default 1')
    add('--note', default='', help='what the first line says of the machine besides')
    for name in ('formula', 'floor'):
        commands.add_parser(name).add_argument('csv', help='of measure')
    options = parser.parse_args()
    return {'measure': measure, 'formula': formula, 'floor': floor}[options.command](options)


if __name__ == '__main__':
    sys.exit(main())
