#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where parts of the scenes of line2d.py that xcorr does not find on edges are lost.

    edge_losses.py [--parts=60] [--hidden 0.3 0.5 0.6]

Each part that is missed is searched for once more round its true pose alone, beginning in half-size frames. A line has
the number of parts that are found; that are not found there either, since too little is seen of them; that score less
there than the threshold; than three places of something else; and of the rest, which the first pass lost, those that
are found if it is in quarter-size frames, those with twenty times the peaks, and those by neither.
"""
import argparse
import collections
import dataclasses

import numpy as np
import xcorr

from line2d import A_FRAME, SIDE, THRESHOLD, Ours
from posing import images, scenes
from posing.judge import ANGLE, Judge

COLUMNS = ('hidden', 'parts', 'found', 'nothing', 'threshold', 'others', 'levels', 'candidates', 'else')
REACH = 100  # pixels round the centre that are searched: they hold a part at any angle, and lie in the frame
LEAST = 0.02  # a threshold for any part
MANY = 20 * A_FRAME


def found_by(scene, settings, poses):
    """[(pose, score)], the best one first."""
    settings = dataclasses.replace(Ours().settings, poses=xcorr.Poses(**poses), **settings)
    peaks = xcorr.Matcher([scene.template], device='cpu', settings=settings).match(scene.frame)
    return [(tuple(peak['pose'][name] for name in ('center_x', 'center_y', 'angle', 'scale')), peak['score'])
            for peak in peaks]


def is_one(pose, true):
    judge = Judge()
    judge.add([pose], [true], np.zeros(3))
    return bool(judge.errors)


def score_at(scene, true):
    """Of what is found round the true pose alone; None if that is something else."""
    x, y, angle, _ = true
    region = int(x) - REACH, int(y) - REACH, 2 * REACH, 2 * REACH
    near = found_by(scene, {'search_region': region, 'threshold': LEAST},
                    {'angle_start': (angle - ANGLE) % 360, 'angle_extent': 2 * ANGLE, 'pyramid_levels': 1})
    return next((score for pose, score in near if is_one(pose, true)), None)


def losses(scene):
    """Of each part one of COLUMNS."""
    def search(settings, **poses):
        return found_by(scene, settings, {'angle_extent': 360, **poses})

    peaks = search({})
    for true in scene.poses:
        if any(is_one(pose, true) for pose, _ in peaks):
            yield 'found'
            continue
        score = score_at(scene, true)
        if score is None:
            yield 'nothing'
            continue
        if score < THRESHOLD:
            yield 'threshold'
            continue
        many = search({'max_peaks': MANY})
        finer = search({}, pyramid_levels=2)
        better = [pose for pose, other in many if other > score and not any(is_one(pose, each) for each in scene.poses)]
        if len(better) >= A_FRAME:
            yield 'others'
        elif any(is_one(pose, true) for pose, _ in finer):
            yield 'levels'
        else:
            yield 'candidates' if any(is_one(pose, true) for pose, _ in many) else 'else'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--parts', type=int, default=60, metavar='N', help='at least so many a row')
    parser.add_argument('--hidden', type=float, nargs='+', default=(0.3, 0.5, 0.6), metavar='SHARE', help='a row each')
    options = parser.parse_args()
    photographs = list(images.photographs().values())
    print(*COLUMNS, sep=',')
    for hidden in options.hidden:
        kind = scenes.Kind(SIDE, hidden=hidden)
        count = collections.Counter()
        for seed in range(-(-options.parts // A_FRAME)):
            count.update(losses(scenes.scene(seed, photographs, kind, parts=A_FRAME)))
        print(hidden, count.total(), *(count[column] for column in COLUMNS[2:]), sep=',', flush=True)


if __name__ == '__main__':
    main()
