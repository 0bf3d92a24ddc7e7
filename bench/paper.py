#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The evaluation of the paper, on the machine at hand: its problems by every family and by cuFFT.

    paper.py measure --checkcorr=build/tests/checkcorr/checkcorr CSV
    paper.py report CSV... [--figures=docs/images]

`measure` needs nothing but the program and takes about a minute on an H200. `report` prints the tables, with published
figures beside the measured ones, and draws the figures (with Matplotlib).
"""
import argparse
import pathlib
import sys

from published import measuring, writing
from published.results import Results, choices, published

EVERY = {'cuda': 1e10, 'cpu': 1e8}  # products
MOST = {'cuda': float('inf'), 'cpu': 3e8}


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = parser.add_subparsers(dest='mode', required=True)
    measure = modes.add_parser('measure')
    measure.add_argument('csv', type=pathlib.Path)
    measure.add_argument('--checkcorr', required=True, help='the program')
    measure.add_argument('--backend', choices=sorted(EVERY), default='cuda', help='default cuda')
    measure.add_argument('--every', type=float, help='products of a problem up to which every variant is timed, beyond '
                         'it one of each family; default 1e10, on the CPU 1e8')
    measure.add_argument('--most', type=float, help='products of the largest problem; default all, on the CPU 3e8')
    measure.add_argument('--full', action='store_true', help='every variant on every problem')
    measure.add_argument('--seconds', type=float, default=0.005, help='least time of a measurement; default 0.005')
    report = modes.add_parser('report')
    report.add_argument('csv', type=pathlib.Path, nargs='+')
    report.add_argument('--figures', type=pathlib.Path, help='a folder for them; default: none are drawn')
    report.add_argument('--format', default='svg', help='of figures: svg (default) or png')
    return parser.parse_args(arguments)


def measure(options):
    every = float('inf') if options.full else options.every or EVERY[options.backend]
    most = float('inf') if options.full else options.most or MOST[options.backend]
    measuring.measure(measuring.Checkcorr(options.checkcorr, options.backend, options.seconds, options.csv), every,
                      most)


def report(options):
    results, figures = Results(options.csv), published()
    if not results.ms:
        raise SystemExit(f'{", ".join(map(str, options.csv))}: none of the paper\'s problems')
    if options.figures:
        from published import drawing  # pylint: disable=import-outside-toplevel
        for path in drawing.draw(results, figures, options.figures, options.format):
            print(path, file=sys.stderr)
    print('\n'.join(writing.report(results, figures, choices())))


def main(arguments=None):
    options = parse(arguments)
    {'measure': measure, 'report': report}[options.mode](options)


if __name__ == '__main__':
    main()
