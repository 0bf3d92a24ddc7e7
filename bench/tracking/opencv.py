# SPDX-License-Identifier: LGPL-2.1-or-later
"""OpenCV's trackers, those that its Python package has here (opencv-contrib-python has most)."""
import cv2

from .peer import Peer
from .sequences import Unusable


def kcf():
    settings = cv2.TrackerKCF_Params()
    settings.detect_thresh = 0.05  # with its default of 0.5 it loses nearly every target at once
    return cv2.TrackerKCF.create(settings)


TRACKERS = {
    # pylint: disable=unnecessary-lambda  # what they call may not be there
    'CSRT': lambda: cv2.TrackerCSRT.create(),
    'KCF': kcf,
    'MOSSE': lambda: cv2.legacy.TrackerMOSSE_create(),
    'MIL': lambda: cv2.TrackerMIL.create(),
}
VERSION = f'OpenCV {cv2.__version__}'


class Following:
    """As Peer wants a tracker."""

    def __init__(self, name):
        try:
            self.tracker = TRACKERS[name]()
        except AttributeError as why:
            raise Unusable(f'{VERSION} has no {name}: {why}') from None
        self.init = self.tracker.init

    def update(self, frame):
        seen, place = self.tracker.update(frame)
        return place if seen else None


def tracker(name):
    """One of TRACKERS."""
    Following(name)  # so that what is missing is known at once
    return Peer(name, lambda: Following(name), VERSION)
