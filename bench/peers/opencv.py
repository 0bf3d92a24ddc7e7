# SPDX-License-Identifier: LGPL-2.1-or-later
"""OpenCV's matchTemplate on the CPU, with as many threads as it takes by itself."""
import cv2

from . import Peer


def prepare(problem):
    frame, templates = problem.frame, problem.templates
    return lambda: [cv2.matchTemplate(frame, template, cv2.TM_CCOEFF_NORMED) for template in templates]


def peers(_backend):
    return [Peer('opencv', 'scores', 'cpu', f'OpenCV {cv2.__version__} with {cv2.getNumThreads()} threads',
                 prepare, tolerance=1e-3)]
