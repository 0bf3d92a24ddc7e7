#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whole matches by what is on the frames: times of match_bench as CSV.

    matches.py --match-bench build/bench/match_bench --output bench/results/GPU-match.csv

Templates of 16x16 to 128x128, one and 32 of them, in frames of 1920x1080 of photographs, video and noise (see
images.py), without masks and masked by discs; one of 64x64 in a window of 192x192 and in 3840x2160. Each
template's best peak has to be where it was cut out: results that are wrong get no line, and the exit status is 1.
"""
import argparse
import csv
import functools
import os
import pathlib
import sys
import tempfile

import images
from compare import machine, ours, say
from peers.problem import Problem

FRAME, OTHER_FRAMES = (1920, 1080), ((192, 192), (3840, 2160))
MASKS = ('none', 'disc')


def problems(options):
    """(problem, mask), in the order of the table."""
    for content in options.contents.split(','):
        for mask in MASKS:
            for side in options.sides:
                for count in (1, 32):
                    yield Problem(*options.frame, side, count, content), mask
        for frame in options.other_frames:
            yield Problem(*frame, options.sides[-2], 1, content), MASKS[0]


def parse(arguments=None):
    def size(text):
        width, height = text.split('x')
        return int(width), int(height)

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = functools.partial(parser.add_argument, metavar='')
    add('--match-bench', default='build/bench/match_bench', help='the program that runs match()')
    add('--output', help='CSV file; default standard output')
    add('--backend', choices=('cuda', 'cpu'), default='cuda' if os.path.exists('/proc/driver/nvidia') else 'cpu',
        help='cuda or cpu; default: cuda where there is a driver')
    add('--kernel', default='auto', help="match()'s correlate variant")
    add('--seconds', type=float, default=0.1, help='time for each figure, default 0.1')
    add('--contents', default=','.join(images.CONTENTS), help=f'default {",".join(images.CONTENTS)}')
    add('--frame', type=size, default=FRAME, help='WIDTHxHEIGHT, default 1920x1080')
    add('--other-frames', type=lambda text: [size(part) for part in text.split(',')], default=OTHER_FRAMES,
        help='with commas, default 192x192,3840x2160')
    add('--sides', type=lambda text: [int(side) for side in text.split(',')], default=[16, 32, 64, 128],
        help='of the templates, with commas; the last but one in other frames')
    return parser.parse_args(arguments)


def measure(options, file):
    """How many results were wrong."""
    table, wrong = None, 0
    for problem, mask in problems(options):
        with tempfile.TemporaryDirectory() as folder:
            row, errors = ours(options, problem, pathlib.Path(folder), f'--mask={mask}')
        say(f'{problem}, mask {mask}: {row["stream_ms"]} ms, {row["kernel"]}')
        if not table:
            file.write(f'# {machine(options.backend, row["device"])}; matches.py --seconds={options.seconds:g}\n')
            table = csv.DictWriter(file, row, lineterminator='\n')
            table.writeheader()
        for error in errors[:3]:
            say(f'  WRONG: {error}')
        wrong += bool(errors)
        if not errors:
            table.writerow({**row, 'content': problem.content})
        file.flush()
    return wrong


def main():
    options = parse()
    with open(options.output, 'w', encoding='utf-8') if options.output else sys.stdout as file:
        return 1 if measure(options, file) else 0


if __name__ == '__main__':
    sys.exit(main())
