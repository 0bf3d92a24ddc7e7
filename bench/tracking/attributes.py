# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is hard in sequences, and what follows them by that.

attributes.csv has 1, 0 or nothing where it is not known: hidden, turns (in the picture or out of it) and blur (of
motion) are those that OTB has published for its sequences, hidden also where VOT has marked frames of its own so; small
and color are measured by the rules below.
"""
import csv
import pathlib

import numpy as np

from .sequences import Unusable

NAMES = ('hidden', 'turns', 'small', 'blur', 'color')
SMALL = 400  # pixels of the median box
GRAY = 1  # levels by which the channels of a pixel differ at most in the mean
# What results have, by the names that they have for it and the unit that makes shares of them.
FIGURES = {'auc': {'auc': 1}, 'precision': {'precision': 1, 'precision_20px': 1},
           'lost': {'lost': 1, 'lost_percent': 100}, 'wrong': {'wrong': 1, 'wrong_percent': 100}}


def read():
    """{sequence: {attribute: whether it has that}}, where that is known."""
    with open(pathlib.Path(__file__).with_name('attributes.csv'), encoding='utf-8') as file:
        return {row['sequence']: {name: row[name] == '1' for name in NAMES if row[name]}
                for row in csv.DictReader(file)}


def measured(sequence):
    spread = np.mean([np.ptp(frame, axis=2).mean() for frame in sequence.frames[::10]])
    return {'small': bool(np.nanmedian(np.prod(sequence.truth[:, 2:], axis=1)) < SMALL), 'color': bool(spread > GRAY)}


def results(path):
    """{tracker, or group and build: {sequence: figures}} of a file of results."""
    found = {}
    with open(path, encoding='utf-8') as file:
        for row in csv.DictReader(line for line in file if not line.startswith('#')):
            who = ' '.join(row[name] for name in ('tracker', 'group', 'build') if name in row)
            try:
                found.setdefault(who, {})[row['sequence']] = {
                    figure: next(float(row[name]) / unit for name, unit in names.items() if name in row)
                    for figure, names in FIGURES.items()}
            except (KeyError, StopIteration):
                raise Unusable(f'{path} has no results of tracks.py') from None
    return found


def lines(trackers):
    """The means of the sequences that have each attribute, of what `results` gives."""
    known = read()
    yield f'{"tracker":28} {"sequences":>9} {"with":8} {"AUC":>5} {"20 px":>5} {"lost%":>5} {"wrong%":>6}'
    for who, figures in trackers.items():
        for name in NAMES:
            of = [figures[sequence] for sequence in figures if known.get(sequence, {}).get(name)]
            if of:
                auc, precision, lost, wrong = (np.mean([one[figure] for one in of]) for figure in FIGURES)
                yield (f'{who:28} {len(of):9} {name:8} {auc:5.3f} {precision:5.3f} {100 * lost:5.1f} '
                       f'{100 * wrong:6.1f}')
