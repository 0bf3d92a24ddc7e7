#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whether cudaxcorr, and OpenCV's trackers beside it, hold what somebody drags a box about or clicks on in clips.

    GST_PLUGIN_PATH_1_0=build/plugin bench/clicks.py --opencv=CSRT --csv=clicks.csv CLIP...
    bench/clicks.py --labels=mine.csv --places=places.csv CLIP...

A CLIP is a video. Of its targets few frames are labelled, in rows of --labels: the clip's name, the target, the frame
and the target's box, which is empty where it is gone. Between two such rows it is gone, too, and from such a last row
to the end. A target's first row is what is shown, as examples/click_to_track.c does it: by a drag, all of it, or by a
click on its middle, a square. What is counted: docs/evaluation.md.
"""
import argparse
import collections
import csv
import dataclasses
import os
import pathlib
import sys

import numpy as np

from compare import machine
from tracking import sequences
from tracking.element import Element, Refused
from tracking.measures import measure
from tracking.sequences import Sequence, Unusable
from tracks import PEERS, peers, say, tightened

LABELS = pathlib.Path(__file__).parent / 'tracking/clicks.csv'
BOX = ('x', 'y', 'width', 'height')
CLICK_BOX = 48  # pixels, of examples/click_to_track.c
VERDICTS = ('held', 'found again', 'lost', 'wrong', 'refused')
FOUND = (*BOX, 'confidence')
WHOSE = ('tracker', 'clip', 'target', 'shown', 'start')
COLUMNS = (*WHOSE, 'verdict', 'lost_after', 'labels', 'lost', 'wrong', 'iou', 'absent', 'claimed',
           'surest', 'ms')
PLACES = (*WHOSE, 'frame', *FOUND)
SUMMED = ('tracker', 'clip', 'shown')  # what the summary has a line for


class Target:
    """One of a clip of so many frames. Its truth is known in the frames `known`; NaN says there that it is gone.
    `last`: the last one with a box; `leaves`: the last one before it is gone for the first time."""

    def __init__(self, name, rows, count):
        self.name, self.start = name, int(rows[0]['frame'])
        self.truth = np.full((count, 4), np.nan)
        self.known = np.zeros(count, bool)
        for row, after in zip(rows, [*rows[1:], {'frame': count, 'x': ''}]):
            frame, box = int(row['frame']), [float(row[name] or 'nan') for name in BOX]
            if not self.start <= frame < int(after['frame']) <= count:
                raise Unusable(f'{name}: its frame {frame} is out of order, or the clip ends before it')
            self.truth[frame] = box
            self.known[frame:frame + 1 if row['x'] or after['x'] else int(after['frame'])] = True
        if np.isnan(self.truth[self.start, 0]):
            raise Unusable(f'{name}: the first row has no box')
        view, gone = (np.flatnonzero(self.known & (np.isnan(self.truth[:, 0]) == away)) for away in (False, True))
        self.last = view[-1]
        self.leaves = view[np.searchsorted(view, gone[0]) - 1] if len(gone) else self.last


def read(path):
    """{clip: {target: rows}}."""
    labels = collections.defaultdict(lambda: collections.defaultdict(list))
    with open(path, encoding='utf-8') as file:
        for row in csv.DictReader(file):
            labels[row['clip']][row['target']].append(row)
    return labels


def clicked(box, size):
    """The square of a click on the middle of `box`, as far as a frame of this width and height reaches."""
    low = np.rint(box[:2] + box[2:] / 2) - CLICK_BOX / 2
    high = np.minimum(low + CLICK_BOX, size)
    low = np.maximum(low, 0)
    return np.array([*low, *(high - low)])


def verdict(boxes, target, measures):
    """One of VERDICTS: wrong if it ever is; lost if it is in the last frame with a box."""
    if measures.wrong:
        return 'wrong'
    if np.isnan(boxes[target.last, 0]):
        return 'lost'
    return 'found again' if measures.lost else 'held'


def evaluate(found, ms, target, shown):
    """The columns of a tracker's boxes from the start on."""
    boxes = np.full((len(target.truth), found.shape[1]), np.nan)
    boxes[target.start:] = tightened(found, shown, target.truth[target.start])
    judged = np.flatnonzero(target.known)[1:]  # the first one is shown
    measures = measure(boxes[judged], target.truth[judged], [ms])
    lost = np.flatnonzero(np.isnan(boxes[target.start + 1:target.leaves + 1, 0]))
    sure = boxes[judged][np.isnan(target.truth[judged, 0]), 4:]  # of what is claimed while it is gone
    return {'verdict': verdict(boxes, target, measures), 'lost_after': lost[0] + 1 if len(lost) else '',
            'labels': measures.frames, 'lost': round(measures.frames * measures.lost),
            'wrong': round(measures.frames * measures.wrong), 'iou': f'{measures.iou:.3f}',
            'absent': measures.absent, 'claimed': measures.claimed,
            'surest': f'{np.nanmax(sure):.2f}' if measures.claimed and sure.size else '', 'ms': f'{ms:.2f}'}


def follow(tracker, sequence, target, shown):
    """(the columns, the boxes from the start on) where that is what is shown."""
    truth = target.truth.copy()
    truth[target.start] = shown
    try:
        found, ms = tracker.follow(dataclasses.replace(sequence, truth=truth), target.start)
    except Refused as why:
        say(f'{sequence.name}, {target.name}: {why}')
        return {'verdict': 'refused'}, ()
    return evaluate(found, ms, target, shown), found


def follow_all(clip, targets, trackers):
    """(what PLACES and COLUMNS begin with, the other columns, the boxes) of each run."""
    frames = sequences.video(clip)
    for target in (Target(name, rows, len(frames)) for name, rows in targets.items()):
        sequence, box = Sequence(clip.name, frames, target.truth), target.truth[target.start]
        for how, shown in (('drag', box), ('click', clicked(box, frames[0].shape[1::-1]))):
            for name, tracker in trackers.items():
                yield (dict(zip(WHOSE, (name, clip.name, target.name, how, target.start))),
                       *follow(tracker, sequence, target, shown))


def run(options, table, places):
    trackers = {element.name: element for element in map(Element, options.element or [''])}
    if options.opencv:
        trackers |= peers('opencv', options.opencv, PEERS['opencv'])
    table.write(f'# {", ".join([machine("cpu", None), *dict.fromkeys(each.version for each in trackers.values())])}\n')
    rows = csv.DictWriter(table, COLUMNS, lineterminator='\n')
    rows.writeheader()
    frames = csv.DictWriter(places, PLACES, lineterminator='\n')
    frames.writeheader()
    labels, verdicts = read(options.labels), collections.defaultdict(collections.Counter)
    for clip in map(pathlib.Path, options.clips):
        if clip.name not in labels:
            raise Unusable(f'{options.labels} has no target of {clip.name}')
        for whose, columns, boxes in follow_all(clip, labels[clip.name], trackers):
            rows.writerow(whose | columns)
            table.flush()
            frames.writerows(whose | {'frame': whose['start'] + after} | {
                name: '' if np.isnan(value) else f'{value:.2f}' for name, value in zip(FOUND, box)}
                             for after, box in enumerate(boxes))
            verdicts[tuple(whose[name] for name in SUMMED)].update(
                [columns['verdict'], *['claimed'] * bool(columns.get('claimed'))])
    return verdicts


def summary(verdicts):
    """Lines of a table: of each clip how many clicks came to what."""
    counted = (*VERDICTS, 'claimed')
    yield f'{"tracker":22} {"clip":34} {"shown":5} clicks  ' + '  '.join(counted)
    for (tracker, clip, how), counts in sorted(verdicts.items()):
        yield (f'{tracker:22} {clip:34} {how:5} {sum(counts[name] for name in VERDICTS):6}  '
               + '  '.join(f'{counts[name]:{len(name)}}' for name in counted))


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add('clips', nargs='+', metavar='CLIP', help='a video that the labels name')
    add('--labels', default=LABELS, metavar='FILE', help='default: bench/tracking/clicks.csv')
    add('--element', action='append', metavar='PROPERTIES', help='as of tracks.py')
    add('--opencv', metavar='NAMES', help='as of tracks.py')
    add('--csv', default=os.devnull, metavar='FILE', help='write a row for each click there')
    add('--places', default=os.devnull, metavar='FILE', help='and there a row for each frame: an empty box is lost')
    return parser.parse_args()


def main():
    options = parse()
    try:
        with open(options.csv, 'w', encoding='utf-8') as table, open(options.places, 'w', encoding='utf-8') as places:
            print(*summary(run(options, table, places)), sep='\n')
    except (OSError, Unusable) as why:
        say(f'clicks: {why}')
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
