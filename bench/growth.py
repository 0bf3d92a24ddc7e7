#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""How the time of a match grows, and a formula for it: what docs/performance/growth.md says.

    growth.py measure --output bench/results/MACHINE-growth.csv     with match_bench and tracker_bench
    growth.py formula CSV                                           the factors of the page; needs SciPy

`measure` goes through the pixels of a frame, the size of a template, their number, the range of angles and the number
of targets, each with the others fixed, and through matches that mix them. The formula is judged by some of these that
it is not fitted to. Frames show photographs; each template has to be found where it was cut out.
"""
import argparse
import csv
import functools
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
           'latency_ms', 'stream_ms')
HD = (1920, 1080)
FORMULA_SWEEPS = ('frame', 'side', 'count', 'mixed', 'other')  # the last is not fitted to
SIDES = {'cuda': (8, 16, 24, 32, 48, 64, 80, 96, 128, 160, 192, 256),
         'cpu': (8, 16, 24, 32, 48, 64, 96, 128, 192, 256)}
COUNTS = {'cuda': (1, 2, 4, 8, 16, 32, 64, 128), 'cpu': (1, 2, 4, 8)}
FRAMES = {'cuda': ((320, 240), (640, 480), (1280, 720), HD, (2560, 1440), (3840, 2160), (7680, 4320)),
          'cpu': ((320, 240), (640, 480), (1280, 720), HD, (3840, 2160))}
ANGLES = (10, 45, 90, 180, 360)
MIXED = {'cuda': (*((*HD, 16, count) for count in (8, 32, 128)),
                  *((1280, 720, 32, count) for count in (4, 16, 64)),
                  *((*HD, 256, count) for count in (2, 8, 32)),
                  (640, 480, 16, 32), (1280, 720, 128, 2), (2560, 1440, 48, 64), (3840, 2160, 96, 4),
                  (3840, 2160, 16, 1), (1024, 768, 40, 20)),
         'cpu': ((640, 480, 16, 4), (1280, 720, 32, 2), (1280, 720, 128, 2), (2560, 1440, 48, 1), (1024, 768, 40, 3))}
OTHERS = {'cuda': ((640, 480, 64, 16), (*HD, 24, 48), (1280, 720, 96, 8), (2560, 1440, 32, 4), (3840, 2160, 64, 32),
                   (1280, 720, 200, 3), (*HD, 112, 1), (1024, 768, 48, 1)),
          'cpu': ((800, 600, 32, 2), (1280, 720, 64, 2), (*HD, 160, 2), (2560, 1440, 24, 1))}
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
        yield {'sweep': 'targets', 'backend': row['backend'], 'device': row['device'], 'width': HD[0],
               'height': HD[1], 'side': 64, 'targets': row['targets'], 'latency_ms': row['locate_ms'],
               'stream_ms': f'{frame_ms:.4f}'}, []


def measure(options):
    """The exit status: 1 where results were wrong."""
    table, wrong = None, 0
    with open(options.output, 'w', encoding='utf-8') if options.output else sys.stdout as file:
        for source in (matches, targets):
            for row, errors in source(options):
                if not table:
                    file.write(f'# {machine(options.backend, row["device"])}; {options.note}'
                               f'growth.py measure --seconds={options.seconds:g}\n')
                    table = csv.DictWriter(file, COLUMNS, restval='', extrasaction='ignore', lineterminator='\n')
                    table.writeheader()
                for error in errors[:3]:
                    say(f'  WRONG: {error}')
                wrong += bool(errors)
                if not errors:
                    table.writerow(row)
                    file.flush()
                    say(' '.join(str(row.get(name, '')) for name in COLUMNS))
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


class Way:
    """A way to match, in which time is a sum of terms; each with a factor of its own that is fitted."""

    def __init__(self, name, kernel, is_able, terms):
        self.name, self.kernel, self.is_able, self.terms = name, kernel, is_able, terms

    def does(self, row):
        return re.match(self.kernel, row['kernel']) is not None and self.is_able(*numbers(row))


def numbers(row):
    """Millions of pixels and of places, templates, their side."""
    width, height, side = (int(row[name]) for name in ('width', 'height', 'side'))
    return width * height / 1e6, (width - side + 1) * (height - side + 1) / 1e6, int(row['templates']), side


def groups(n):
    """Templates, as there are in whole groups of 32."""
    return -(-n // 32) * 32


WAYS = (  # on a GPU
    Way('one template', 'tensor_match', lambda p, v, n, s: n == 1 and s <= 128,
        lambda p, v, n, s: (1, p, v * area(s))),
    Way('one after the other', 'tensor_match', lambda p, v, n, s: n > 1 and s <= 128,
        lambda p, v, n, s: (1, n, n * v, n * v * area(s))),
    Way('in groups of 32', 'tensor_bank', lambda p, v, n, s: n > 1 and s <= 64,
        lambda p, v, n, s: (1, groups(n), groups(n) * v, groups(n) * v * area(s, 32, 64))),
    Way('by FFT', 'fft', lambda p, v, n, s: True, lambda p, v, n, s: (1, n * p)),
)


def fitted(terms, times):
    """The factors, none below 0, by which no time is further off, in its own size, than one has to be."""
    from scipy.optimize import linprog  # pylint: disable=import-outside-toplevel
    shares = np.array(terms, float) / np.array(times)[:, None]
    count, factors = shares.shape
    bound = np.ones((count, 1))
    above, below = np.hstack([shares, -bound]), np.hstack([-shares, -bound])
    least = linprog([0] * factors + [1], np.vstack([above, below]), np.repeat([1, -1], count), bounds=(0, None))
    return least.x[:-1]


def microseconds(factors, row):
    """What the formula says: the least of the ways that can do it. `factors`: of the ways, in their order."""
    return min(sum(term * factor for term, factor in zip(way.terms(*numbers(row)), of_way))
               for way, of_way in zip(WAYS, factors) if way.is_able(*numbers(row)))


def largest_error(factors, rows):
    """(by which share of a measured time the formula is off at most, in which row)."""
    return max(((microseconds(factors, row) / float(row['stream_ms']) / 1000 - 1, row) for row in rows),
               key=lambda entry: abs(entry[0]))


def formula(options):
    machine_name, rows = rows_of(options.csv)
    rows = [row for row in rows if row['sweep'] in FORMULA_SWEEPS]
    print(machine_name)
    factors = []
    for way in WAYS:
        known = [row for row in rows if row['sweep'] != 'other' and way.does(row)]
        factors.append(fitted([way.terms(*numbers(row)) for row in known],
                              [1000 * float(row['stream_ms']) for row in known]))
        print(f'{way.name}:', *(f'{factor:.3g}' for factor in factors[-1]))
    for is_other, name in ((False, 'fitted to'), (True, 'not fitted to')):
        judged = [row for row in rows if (row['sweep'] == 'other') == is_other]
        error, row = largest_error(factors, judged)
        print(f'{len(judged)} matches that it was {name}: {100 * error:+.0f} % at most '
              f'({row["templates"]} of {row["side"]}x{row["side"]} in {row["width"]}x{row["height"]})')
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest='command', required=True)
    one = commands.add_parser('measure')
    add = functools.partial(one.add_argument, metavar='')
    add('--match-bench', default='build/bench/match_bench')
    add('--tracker-bench', default='build/bench/tracker_bench')
    add('--output', help='CSV file; default standard output')
    add('--backend', choices=('cuda', 'cpu'), default='cuda' if os.path.exists('/proc/driver/nvidia') else 'cpu',
        help='cuda or cpu; default: cuda where there is a driver')
    add('--kernel', default='auto', help="match()'s correlate variant")
    add('--seconds', type=float, default=0.1, help='time for each figure, default 0.1')
    add('--note', default='', help='what the first line says of the machine besides')
    two = commands.add_parser('formula')
    two.add_argument('csv', help='of a GPU')
    options = parser.parse_args()
    return {'measure': measure, 'formula': formula}[options.command](options)


if __name__ == '__main__':
    sys.exit(main())
