#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where parts of the scenes of line2d.py that xcorr does not find on edges are lost.

    edge_losses.py [--parts=60] [--first=0] [--hidden 0.3 0.5 0.6] [--bounds]

Each part that is missed is searched for once more round its true pose alone, beginning in half-size frames. A line has
the number of parts that are found; that are not found there either, since too little is seen of them; that score less
there than the threshold; than three places of something else; and of the rest, which the first pass lost, those that
are found if it is in quarter-size frames, those with twenty times the peaks, and those by neither.

--bounds searches for nothing: a line has the number of parts of whose template's edges less than a share is seen, which
no score of theirs can pass, and the median of these shares.
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
SHARES = 0.1, 0.2, 0.25, 0.3, 0.35  # of edges that are seen
BOUNDS = ('hidden', 'parts', *(f'below {share}' for share in SHARES), 'median')


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


def edges_seen(template, seen):
    """The share of them: the score of the template where the rest of it is blank, with edges as strong as its own."""
    settings = xcorr.Settings(match_on='edges', threshold=0, max_peaks=1)
    picture = np.where(seen, template, template.mean().astype(np.uint8))
    peaks = xcorr.Matcher([template], device='cpu', settings=settings).match(picture)
    return peaks[0]['score'] if peaks else 0


def bounds(pictures):
    shares = [edges_seen(scene.template, seen) for scene in pictures for seen in scene.seen]
    return (len(shares), *(sum(share < least for share in shares) for least in SHARES), f'{np.median(shares):.3f}')


def counts(pictures):
    count = collections.Counter()
    for scene in pictures:
        count.update(losses(scene))
    return count.total(), *(count[column] for column in COLUMNS[2:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--parts', type=int, default=60, metavar='N', help='at least so many a row')
    parser.add_argument('--first', type=int, default=0, metavar='N', help='scene')
    parser.add_argument('--hidden', type=float, nargs='+', default=(0.3, 0.5, 0.6), metavar='SHARE', help='a row each')
    parser.add_argument('--bounds', action='store_true', help='of what can be found at most')
    options = parser.parse_args()
    photographs = list(images.photographs().values())
    columns, row = (BOUNDS, bounds) if options.bounds else (COLUMNS, counts)
    numbers = range(options.first, options.first + -(-options.parts // A_FRAME))
    print(*columns, sep=',')
    for hidden in options.hidden:
        kind = scenes.Kind(SIDE, hidden=hidden)
        pictures = (scenes.scene(number, photographs, kind, parts=A_FRAME) for number in numbers)
        print(hidden, *row(pictures), sep=',', flush=True)


if __name__ == '__main__':
    main()
