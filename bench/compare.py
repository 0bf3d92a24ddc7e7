#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""match() beside other ways to the same, on the same frames in one run: times as CSV.

    compare.py --match-bench build/bench/match_bench --output bench/results/GPU-compare.csv

Three sweeps, over the template's size, the number of templates and the frame's size, in frames of
photographs; and the same with other contents (see images.py), where match() is alone: what the others
do does not depend on it. The other ways are those of peers/ whose library is here; of the rest a line says why not.
Results are checked (see peers/check.py): who is wrong gets no time in the CSV, and the exit status is 1.
"""
import argparse
import contextlib
import csv
import functools
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

import peers
import images
from peers import check, timing
from peers.problem import Problem

COLUMNS = ('program', 'computes', 'backend', 'content', 'sweeps', 'width', 'height', 'side', 'templates',
           'latency_ms', 'stream_ms', 'samples', 'kernel')
PATIENCE_S = 5  # a peer that takes longer for a frame is not asked for more
HERE = pathlib.Path(__file__).resolve().parent


def say(text):
    print(text, file=sys.stderr, flush=True)


# ---- what is compared ---------------------------------------------------------------------------------


def problems(options):
    """{problem: names of its sweeps}, as a problem may stand in several."""
    found = {}
    sweeps = {'side': [(options.frame, side, 1) for side in options.sides],
              'count': [(options.frame, options.side, count) for count in options.counts],
              'frame': [(frame, options.side, 1) for frame in options.frames]}
    for content in options.contents:
        for name, rows in sweeps.items():
            for frame, side, count in rows:
                found.setdefault(Problem(*frame, side, count, content), []).append(name)
    return found


def ours(options, problem, folder, *more, least=1):
    """(the line of match_bench, what is wrong with its peaks). `more`: arguments of it; `least`: see check.ours()."""
    frame, peaks = folder / 'frame.pgm', folder / 'peaks.csv'
    images.write_pnm(frame, problem.frame)
    files = [folder / f'template{i}.pgm' for i in range(problem.count)]
    for path, template in zip(files, problem.templates):
        images.write_pnm(path, template)
    done = subprocess.run([options.match_bench, f'--backend={options.backend}', f'--kernel={options.kernel}',
                           f'--seconds={options.seconds}', f'--frame={frame}', f'--peaks={peaks}',
                           *(f'--template={path}' for path in files), *more],
                          stdout=subprocess.PIPE, text=True, check=False)
    rows = list(csv.DictReader(done.stdout.splitlines()))
    if done.returncode != 0 or len(rows) != 1:
        raise RuntimeError(f'{options.match_bench} measured nothing of {problem}, exit status {done.returncode}')
    with open(peaks, encoding='utf-8') as lines:
        found = [(int(row['template']), float(row['x']), float(row['y']), float(row['score']))
                 for row in csv.DictReader(lines)]
    return rows[0], check.ours(found, problem, least)


def peer_time(peer, problem, seconds):
    """(Timing, what is wrong with the result)."""
    timer = timing.on_host if peer.backend == 'cpu' else functools.partial(timing.on_gpu, captured=peer.captured)
    took = timer(peer.prepare(problem), seconds)
    return took, check.peer(took.result, problem, peer)


# ---- where it runs ------------------------------------------------------------------------------------


def found_in(path, pattern):
    try:
        match = re.search(pattern, pathlib.Path(path).read_text(encoding='utf-8'))
    except OSError:
        match = None
    return match[1] if match else 'unknown'


def commit():
    """Of the sources, unless the environment says."""
    if given := os.environ.get('XCORR_COMMIT'):
        return given
    try:
        return subprocess.run(['git', '-C', HERE, 'describe', '--always', '--dirty'], text=True, check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return 'unknown'


def machine(backend, device):
    if backend == 'cpu':
        name = found_in('/proc/cpuinfo', r'model name\s*: (.*)')
        return f'{name}, {os.cpu_count()} cores, {platform.system()}, commit {commit()}'
    driver = found_in('/proc/driver/nvidia/version', r'Kernel Module.*?(\d+\.\d+[.\d]*)')
    try:
        import torch  # pylint: disable=import-outside-toplevel
        toolkit = torch.version.cuda
    except ImportError:
        toolkit = 'unknown'
    return f'{device}, driver {driver}, CUDA {toolkit}, commit {commit()}'


# ---- the run ------------------------------------------------------------------------------------------


class Comparison:
    """Measures, says so, and writes the CSV line by line, so that what was measured stays when a run is cut short."""

    def __init__(self, options, file, found):
        self.options, self.file, self.found = options, file, found
        self.table = csv.DictWriter(file, COLUMNS, restval='', lineterminator='\n')
        self.wrong = 0
        self.too_long = {}  # peer's name: products of the problem at which it lost our patience

    def head(self, device):
        versions = ', '.join(dict.fromkeys(peer.version for peer in self.found))
        self.file.write(f'# {machine(self.options.backend, device)}\n')
        self.file.write(f'# beside {versions or "nobody"}\n')
        self.table.writeheader()

    def result(self, name, problem, errors, text, **fields):
        """A line of the table, unless the result is wrong."""
        self.wrong += bool(errors)
        for error in errors[:3]:
            say(f'  {name:16} WRONG: {error}')
        if errors:
            return
        say(f'  {name:16} {fields["stream_ms"]:>10} ms, {text}')
        self.table.writerow({'program': name, 'content': problem.content, 'width': problem.width,
                             'height': problem.height, 'side': problem.side, 'templates': problem.count, **fields})
        self.file.flush()

    def peer(self, peer, problem, sweeps):
        if problem.products >= self.too_long.get(peer.name, problem.products + 1):
            say(f'  {peer.name:16} left out: less than this took over {PATIENCE_S} s')
            return
        try:
            took, errors = peer_time(peer, problem, self.options.seconds)
        except Exception as error:  # pylint: disable=broad-except  # whatever a library throws
            say(f'  {peer.name:16} cannot: {(str(error) or repr(error)).splitlines()[0]}')
            return
        if took.ms > 1000 * PATIENCE_S:
            self.too_long[peer.name] = problem.products
        ms = f'{took.ms:.4f}'
        self.result(peer.name, problem, errors, f'{took.samples} samples', sweeps=sweeps, computes=peer.computes,
                    backend=peer.backend, latency_ms=ms if peer.backend == 'cpu' else '', stream_ms=ms,
                    samples=took.samples)

    def run(self):
        for index, (problem, names) in enumerate(problems(self.options).items()):
            say(f'{problem}')
            sweeps = ' '.join(names)
            with tempfile.TemporaryDirectory() as folder:
                row, errors = ours(self.options, problem, pathlib.Path(folder))
            if index == 0:
                self.head(row['device'])
            self.result('cudaxcorr', problem, errors, f'one at a time {row["latency_ms"]} ms, {row["kernel"]}',
                        sweeps=sweeps, computes='peaks', backend=self.options.backend, latency_ms=row['latency_ms'],
                        stream_ms=row['stream_ms'], kernel=row['kernel'])
            for peer in self.found if problem.content == self.options.contents[0] else ():
                self.peer(peer, problem, sweeps)


def parse(arguments=None):
    def numbers(text):
        return [int(number) for number in text.split(',')]

    def size(text):
        width, height = text.split('x')
        return int(width), int(height)

    def contents(text):
        for name in text.split(','):
            if name not in images.CONTENTS:
                raise argparse.ArgumentTypeError(f'no content is called {name!r}')
        return text.split(',')

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = functools.partial(parser.add_argument, metavar='')
    add('--match-bench', default='build/bench/match_bench', help='the program that runs match()')
    add('--output', default='-', help='CSV file; - is standard output')
    add('--backend', choices=('cuda', 'cpu'), default='cuda' if os.path.exists('/proc/driver/nvidia') else 'cpu',
        help='cuda or cpu; default: cuda where there is a driver')
    add('--kernel', default='auto', help="match()'s correlate variant")
    add('--seconds', type=float, default=0.2, help='time for each figure, default 0.2')
    add('--peers', help='only these, a list with commas; default all')
    add('--contents', type=contents, default=list(images.CONTENTS),
        help=f'of the frames, with commas; default {",".join(images.CONTENTS)}; the others run on the first one only')
    add('--frame', type=size, default=(1920, 1080), help='WIDTHxHEIGHT where it is not swept')
    add('--side', type=int, default=64, help="the template's width and height where they are not swept")
    add('--sides', type=numbers, default=[16, 32, 64, 128, 256], help='swept, with commas')
    add('--counts', type=numbers, default=[1, 2, 4, 8, 16, 32, 64], help='swept, with commas')
    add('--frames', type=lambda text: [size(part) for part in text.split(',')],
        default=[(640, 480), (1280, 720), (1920, 1080), (3840, 2160)], help='swept, with commas')
    return parser.parse_args(arguments)


def main():
    options = parse()
    found, missing = peers.find(options.backend)
    for why in missing:
        say(f'not here: {why}')
    if options.peers is not None:
        found = [peer for peer in found if peer.name in options.peers.split(',')]
    try:
        with open(options.output, 'w', encoding='utf-8') if options.output != '-' else \
                contextlib.nullcontext(sys.stdout) as file:
            comparison = Comparison(options, file, found)
            comparison.run()
    except (ImportError, OSError, RuntimeError) as error:
        say(f'compare: {error}')
        return 1
    if comparison.wrong:
        say(f'{comparison.wrong} results were wrong')
    return 1 if comparison.wrong else 0


if __name__ == '__main__':
    sys.exit(main())
