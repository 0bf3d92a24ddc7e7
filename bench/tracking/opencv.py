# SPDX-License-Identifier: LGPL-2.1-or-later
"""OpenCV's trackers, those that its Python package has here (opencv-contrib-python has most)."""
import time

import cv2
import numpy as np

from .sequences import Unusable


def kcf():
    settings = cv2.TrackerKCF_Params()
    settings.detect_thresh = 0.05  # with its default of 0.5 it loses nearly every target at once
    return cv2.TrackerKCF.create(settings)


MAKERS = {
    # pylint: disable=unnecessary-lambda  # what they call may not be there
    'CSRT': lambda: cv2.TrackerCSRT.create(),
    'KCF': kcf,
    'MOSSE': lambda: cv2.legacy.TrackerMOSSE_create(),
    'MIL': lambda: cv2.TrackerMIL.create(),
}
VERSION = f'OpenCV {cv2.__version__}'
cv2.setNumThreads(1)  # what counts is the CPU's time, and threads cost some


class Tracker:
    """One of MAKERS."""
    version = VERSION

    def __init__(self, name):
        self.make = MAKERS[name]
        try:
            self.make()
        except AttributeError as why:
            raise Unusable(f'{VERSION} has no {name}: {why}') from None

    def follow(self, sequence, start):
        """As of Element."""
        frames, tracker = sequence.frames[start:], self.make()
        shown = tuple(int(value) for value in np.rint(sequence.truth[start]))
        boxes = np.full((len(frames), 4), np.nan)
        boxes[0] = shown
        before = time.process_time()
        tracker.init(frames[0], shown)
        for box, frame in zip(boxes[1:], frames[1:]):
            seen, place = tracker.update(frame)
            if seen:
                box[:] = place
        return boxes, 1000 * (time.process_time() - before) / len(frames)
