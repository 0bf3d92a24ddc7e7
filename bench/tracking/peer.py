# SPDX-License-Identifier: LGPL-2.1-or-later
"""What trackers of others have in common here: how one is shown a target and follows it."""
import time

import cv2
import numpy as np

cv2.setNumThreads(1)  # what counts is the CPU's time, and threads cost some


class Peer:
    """`make()` gives a tracker that has init(frame, box) and update(frame), which gives a box, or None where it does
    not see the target."""

    def __init__(self, name, make, version):
        self.name, self.make, self.version = name, make, version

    def follow(self, sequence, start):
        """As of Element."""
        frames, tracker = sequence.frames[start:], self.make()
        shown = tuple(int(value) for value in np.rint(sequence.truth[start]))
        boxes = np.full((len(frames), 4), np.nan)
        boxes[0] = shown
        before = time.process_time()
        tracker.init(frames[0], shown)
        for box, frame in zip(boxes[1:], frames[1:]):
            place = tracker.update(frame)
            if place is not None:
                box[:] = place
        return boxes, 1000 * (time.process_time() - before) / len(frames)
