#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""How well cudaxcorr follows targets, and OpenCV's trackers beside it, in sequences with ground truth.

    GST_PLUGIN_PATH_1_0=build/plugin bench/tracks.py FOLDER...
    bench/tracks.py --element= --element='template-update=0.1' --opencv=CSRT,KCF --csv=tracks.csv FOLDER...
    PYTHONPATH=pyCFTrackers bench/tracks.py --peer=eco_hc,strcf,staple FOLDER...
    bench/tracks.py --made=build/bench/synthetic_sequences
    bench/tracks.py --results=bench/results/tracks-returns.csv

A FOLDER is a sequence: images or a video, and groundtruth_rect.txt, groundtruth.txt or gt.txt, in it or below.
Every tracker is shown the target in the same frames, and followed from there to the end. What is counted:
docs/evaluation.md.
"""
import argparse
import csv
import dataclasses
import importlib
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from compare import machine
from tracking import attributes, sequences
from tracking.element import Element
from tracking.measures import Measures, mean, measure
from tracking.sequences import Unusable

MEAN = 'mean'
PEERS = {'opencv': 'opencv', 'peer': 'pycftrackers'}  # the options and their modules
COLUMNS = ('tracker', 'sequence', *(field.name for field in dataclasses.fields(Measures)))


def say(text):
    print(text, file=sys.stderr, flush=True)


def tightened(boxes, shown, true):
    """Of boxes of a target that was shown in `shown` the part that `true` was of that."""
    boxes = boxes.copy()
    boxes[:, :2] += (true[:2] - shown[:2]) / shown[2:] * boxes[:, 2:4]
    boxes[:, 2:4] *= true[2:] / shown[2:]
    return boxes


def evaluate(tracker, sequence, starts, most=None, loose=1):
    """Measures of one sequence, over the frames of all runs, each of at most `most` frames. `loose`: how many times as
    wide and high as the true box the first one is."""
    boxes, truth, ms = [], [], []
    for start in starts:
        run = sequence.first(start + 1 + most if most else None)
        shown = run.drawn_loosely(start, loose)
        found, took = tracker.follow(shown, start)
        boxes.append(tightened(found[1:], shown.truth[start], run.truth[start]))
        truth.append(run.truth[start + 1:])
        ms += [took] * (len(found) - 1)
    return measure(np.concatenate(boxes), np.concatenate(truth), ms)


def line(tracker, sequence, result):
    absent = f'{result.claimed}/{result.absent}'
    return (f'{tracker:28} {sequence:22} {result.iou:5.3f} {result.auc:5.3f} {result.precision:5.3f} '
            f'{100 * result.lost:5.1f} {100 * result.wrong:5.1f} {100 * result.sure:5.1f} {absent:>9} '
            f'{result.ms:7.3f} {result.frames:6}')


HEAD = f'{"tracker":28} {"sequence":22} {"IoU":>5} {"AUC":>5} {"20 px":>5} {"lost%":>5} {"wrong%":>6} {"sure%":>5}' \
       f'{"absent":>9} {"ms":>7} {"frames":>6}'


class Table:
    """Prints a row as soon as it is known, and writes it to the CSV if there is one."""

    def __init__(self, file, note):
        self.rows = {}  # tracker: {sequence: its measures}
        self.file = file
        self.csv = csv.writer(file, lineterminator='\n')
        file.write(f'# {note}\n')
        self.csv.writerow(COLUMNS)
        print(HEAD, flush=True)

    def row(self, tracker, sequence, result):
        print(line(tracker, sequence, result), flush=True)
        values = dataclasses.asdict(result) | {'success': ' '.join(f'{share:.4f}' for share in result.success)}
        self.csv.writerow([tracker, sequence, *(f'{value:.4f}' if isinstance(value, float) else value
                                                for value in values.values())])
        self.file.flush()

    def add(self, tracker, sequence, result):
        self.rows.setdefault(tracker, {})[sequence] = result
        self.row(tracker, sequence, result)

    def means(self):
        for tracker, results in self.rows.items():
            self.row(tracker, MEAN, mean(list(results.values())))
        print(*attributes.lines({tracker: {sequence: dataclasses.asdict(result) for sequence, result in results.items()}
                                 for tracker, results in self.rows.items()}), sep='\n')


def peers(option, names, module):
    """{name: tracker} of those that are here of a module in tracking/; of the others a line says why not."""
    try:
        module = importlib.import_module(f'tracking.{module}')
    except ImportError as why:
        raise Unusable(f'--{option}: {why}') from None
    found = {}
    for name in module.TRACKERS if names == 'all' else names.split(','):
        if name not in module.TRACKERS:
            raise Unusable(f'--{option}: {name} is none of {", ".join(module.TRACKERS)}')
        try:
            found[name] = module.tracker(name)
        except Unusable as why:
            say(f'left out: {why}')
    return found


def run(options, file):
    trackers = {element.name: element for element in map(Element, options.element or [''])}
    for option, module in PEERS.items():
        if names := getattr(options, option):
            trackers |= peers(option, names, module)
    versions = dict.fromkeys(tracker.version for tracker in trackers.values())
    table = Table(file, ', '.join([machine('cpu', None), f'{options.starts} starts', *versions]))
    for folder in options.folders:
        sequence = sequences.read(folder, options.truth)
        for name, tracker in trackers.items():
            table.add(name, sequence.name, evaluate(tracker, sequence, sequence.starts(options.starts), options.frames,
                                                    options.loose))
    table.means()


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add('folders', nargs='*', metavar='FOLDER', help='a sequence')
    add('--made', metavar='PROGRAM', help='synthetic_sequences: the sequences that it draws instead, each from its '
        'first frame')
    add('--element', action='append', metavar='PROPERTIES',
        help="cudaxcorr with these, such as 'threshold=0.6 max-peaks=2'; several times: as many rows. Default: none")
    add('--opencv', metavar='NAMES', help='its trackers: all, or some of CSRT, KCF, MOSSE, MIL with commas')
    add('--peer', metavar='NAMES', help='of pyCFTrackers, a checkout of which is on PYTHONPATH: all, or some of '
        'eco_hc, strcf, staple with commas')
    add('--results', action='append', metavar='FILE', help='no sequences, but what is in such a file: the means of '
        'those that have an attribute (hidden, turns, small, blur, color); several times: as many files')
    add('--measure', action='store_true', help='no trackers: print which sequences are small and have color')
    add('--starts', type=int, default=5, metavar='N', help='runs a sequence, from frames in its first 60 %%; default 5')
    add('--frames', type=int, metavar='N', help='of a run at most, after the first; default: to the end')
    add('--loose', type=float, default=1, metavar='TIMES', help='as wide and high as the true box is the one that is '
        'shown; of what is found the same part counts; default 1')
    add('--truth', choices=sequences.FORMATS, help='what the numbers of four are; default: told from them')
    add('--csv', default=os.devnull, metavar='FILE', help='write the rows there as well')
    options = parser.parse_args()
    if sum(map(bool, (options.folders, options.made, options.results))) != 1:
        parser.error('say which sequences: folders, --made or --results')
    return options


def main():
    options = parse()
    try:
        if options.results:
            for path in options.results:
                print(path, *attributes.lines(attributes.results(path)), sep='\n')
            return 0
        if options.measure:
            for folder in options.folders:
                found = attributes.measured(sequences.read(folder, options.truth))
                print(pathlib.Path(folder).resolve().name, *(f'{name}={value:d}' for name, value in found.items()))
            return 0
        with open(options.csv, 'w', encoding='utf-8') as file, tempfile.TemporaryDirectory() as folder:
            if options.made:
                subprocess.run([options.made, folder], check=True)
                options.folders = sorted(pathlib.Path(folder).iterdir())
                options.starts, options.truth = 1, 'xywh'
            run(options, file)
    except (OSError, subprocess.CalledProcessError, Unusable) as why:
        say(f'tracks: {why}')
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
