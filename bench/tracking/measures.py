# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a tracker's boxes are worth, compared with the truth.

A tracker's box of NaN says that it does not see the target; a truth of NaN that it is not in view. Trackers that say
how sure they are have a fifth column.
"""
import dataclasses

import numpy as np

THRESHOLDS = np.linspace(0, 1, 21)  # of the success curve
NEAR = 20  # pixels: centres that are no further apart are precise
WRONG = 0.1  # an IoU below this names another place
SURE = 0.9  # a confidence above which that is worse


def overlaps(boxes, truth):
    """Intersection over union, row by row; 0 where either is NaN."""
    low = np.maximum(boxes[:, :2], truth[:, :2])
    high = np.minimum(boxes[:, :2] + boxes[:, 2:], truth[:, :2] + truth[:, 2:])
    common = np.prod(np.maximum(high - low, 0), axis=1)
    union = np.prod(boxes[:, 2:], axis=1) + np.prod(truth[:, 2:], axis=1) - common
    return np.nan_to_num(common / union)


@dataclasses.dataclass(frozen=True)
class Measures:
    """Shares of the frames in view, but for `frames`, `absent` and `claimed`, which count, and `ms`."""
    frames: int  # in view
    absent: int  # frames without the target
    claimed: int  # of these with a place
    iou: float  # mean; a frame without a place counts 0
    auc: float  # mean of `success`
    precision: float  # centres at most NEAR pixels apart
    lost: float  # no place
    wrong: float  # a place whose IoU is below WRONG
    sure: float  # these with a confidence above SURE; NaN where trackers have none
    ms: float  # of the CPU a frame
    success: tuple  # for each of THRESHOLDS the share of frames with a larger IoU


def measure(boxes, truth, ms):
    """`ms`: for each frame. The first frame of a run, in which the target is shown, does not belong here."""
    view, seen = ~np.isnan(truth[:, 0]), ~np.isnan(boxes[:, 0])
    boxes, confidence = boxes[:, :4], boxes[view, 4:]
    both = overlaps(boxes[view], truth[view])
    wrong = seen[view] & (both < WRONG)
    sure = (wrong & (confidence[:, 0] > SURE)).mean() if confidence.size else np.nan
    away = np.linalg.norm((boxes - truth)[view] @ [[1, 0], [0, 1], [.5, 0], [0, .5]], axis=1)
    success = (both[:, None] > THRESHOLDS).mean(axis=0)
    return Measures(frames=int(view.sum()), absent=int((~view).sum()), claimed=int((seen & ~view).sum()),
                    iou=both.mean(), auc=success.mean(), precision=(away <= NEAR).mean(), lost=1 - seen[view].mean(),
                    wrong=wrong.mean(), sure=sure, ms=float(np.mean(ms)), success=tuple(success))


@dataclasses.dataclass(frozen=True)
class Stretch:
    """Frames in view, one after the other, in which nothing is claimed or the place is wrong. Frames without the target
    neither end it nor count."""
    first: int
    last: int
    lost: int
    wrong: int
    found: bool  # again after it; else the run ends with it

    @property
    def frames(self):
        return self.lost + self.wrong


def stretches(boxes, truth, least):
    """Those of a run with `least` frames or more. Its first frame, in which the target is shown, does not count."""
    view, lost = ~np.isnan(truth[:, 0]), np.isnan(boxes[:, 0])
    wrong = ~lost & (overlaps(boxes[:, :4], truth) < WRONG)
    places = np.flatnonzero(view)[1:]  # of the frames that count
    bad = (lost | wrong)[places]
    ends = np.flatnonzero(np.diff(bad.astype(int), prepend=0, append=0))
    for first, after in zip(ends[::2], ends[1::2]):
        of = places[first:after]
        if len(of) >= least:
            yield Stretch(int(of[0]), int(of[-1]), int(lost[of].sum()), int(wrong[of].sum()), after < len(bad))


def mean(several):
    """Of several sequences, each of the same weight; counts are added up."""
    def of(name):
        values = [getattr(one, name) for one in several]
        return sum(values) if name in ('frames', 'absent', 'claimed') else np.mean(values, axis=0)
    fields = {field.name: of(field.name) for field in dataclasses.fields(Measures)}
    return Measures(**fields | {'success': tuple(fields['success'])})
