#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whether confidence is what it says it is: of the places with a confidence of p, is a share of p right?

    GST_PLUGIN_PATH_1_0=build/plugin bench/calibrate.py --made=build/bench/synthetic_sequences PHOTOGRAPH PHOTOGRAPH...

Sequences are made of parts of the photographs, see bench/tracking/photographed.cpp. cudaxcorr follows the target
in each with min-confidence=0, so that every place is seen. What is counted, and what the figures mean, is in
docs/tracking.md. Prints for each tracker a logistic regression of what was right on the logarithm of the odds that
are said: where confidence is right the slope is 1 and the offset is 0.
"""
import argparse
import csv
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from compare import machine
from reliability import bins, odds, regression
from tracking import sequences
from tracking.element import Element
from tracking.measures import WRONG, overlaps

TRACKERS = ('template', 'filter')
MISTAKEN = 0.85  # what follows so sure a mistake says nothing: something else has been learnt


def write_pgm(path, photograph):
    """As luma."""
    image = next(iter(sequences.decoded(f'filesrc location="{photograph}" ! decodebin')))
    luma = np.rint(image @ [0.114, 0.587, 0.299]).astype(np.uint8)
    path.write_bytes(b'P5\n%d %d\n255\n' % luma.shape[::-1] + luma.tobytes())


def places(lines):
    """For each frame the box that is claimed, or NaN, and the confidence."""
    boxes = np.full((len(lines), 5), np.nan)
    for box, line in zip(boxes, lines):
        for peak in line['peaks']:
            if not peak['lost']:
                box[:] = [peak[name] for name in ('x', 'y', 'width', 'height', 'confidence')]
    return boxes[:, :4], boxes[:, 4]


def counted(confidence, right):
    """Which of the places of a sequence count. One that follows a wrong but sure place does not, until the target is
    found again: by then something else is followed, and said to be the same as before with good reason."""
    keep, mistaken = np.zeros(len(right), bool), False
    for i, (sure, is_right) in enumerate(zip(confidence, right)):
        mistaken = mistaken and not is_right
        keep[i] = not mistaken and not np.isnan(sure)
        mistaken = mistaken or (not is_right and sure >= MISTAKEN)
    return keep


def samples(tracker, folders):
    """(confidence, whether the place is right) of all that counts. The first frame shows the target."""
    element = Element(f'tracker={tracker} min-confidence=0')
    said, right = [], []
    for folder in folders:
        sequence = sequences.read(folder, 'xywh')
        start = sequence.starts(1)[0]
        x, y, w, h = np.rint(sequence.truth[start]).astype(int)
        lines, _ = element.run(sequence.frames[start:], sequence.frames[start][y:y + h, x:x + w])
        boxes, confidence = places(lines[1:])
        is_right = overlaps(boxes, sequence.truth[start + 1:]) >= WRONG
        keep = counted(confidence, is_right)
        said.append(confidence[keep])
        right.append(is_right[keep])
    return np.concatenate(said), np.concatenate(right)


def make(program, count, photographs, folder):
    """The folders of the sequences."""
    grey = [folder / f'{i}.pgm' for i in range(len(photographs))]
    for path, photograph in zip(grey, photographs):
        write_pgm(path, photograph)
    subprocess.run([program, folder / 'made', str(count), *grey], check=True)
    return sorted((folder / 'made').iterdir())


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('photographs', nargs='+', metavar='PHOTOGRAPH', help='two or more, 320 x 240 or larger')
    parser.add_argument('--made', required=True, metavar='PROGRAM', help='synthetic_sequences')
    parser.add_argument('--count', type=int, default=100, help='of sequences, default 100')
    parser.add_argument('--csv', default=os.devnull, metavar='FILE', help='write there how confidence is distributed')
    return parser.parse_args()


def run(options, file):
    file.write(f'# {machine("cpu", None)}, {options.count} sequences, {Element.version}\n')
    table = csv.writer(file, lineterminator='\n')
    table.writerow(['tracker', 'places', 'confidence', 'right'])
    with tempfile.TemporaryDirectory() as folder:
        folders = make(options.made, options.count, options.photographs, pathlib.Path(folder))
        for name in TRACKERS:
            said, right = samples(name, folders)
            slope, offset = regression(right, odds(said))
            print(f'{name}: {len(said)} places, {right.mean():.3f} right; slope {slope:.2f}, offset {offset:.2f}',
                  flush=True)
            for places_there, confidence, share in bins(said, right):
                table.writerow([name, places_there, f'{confidence:.4f}', f'{share:.4f}'])


def main():
    options = parse()
    try:
        with open(options.csv, 'w', encoding='utf-8') as file:
            run(options, file)
    except (OSError, subprocess.CalledProcessError, sequences.Unusable) as why:
        print(f'calibrate: {why}', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
