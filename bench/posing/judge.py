# SPDX-License-Identifier: LGPL-2.1-or-later
"""What was found against what is there."""
import dataclasses

import numpy as np

PLACE, ANGLE, SCALE = 3, 5, 0.1  # a peak further off than that (pixels, degrees, a share) is of something else


def off(pose, true):
    """How far one pose (x, y, angle, scale) is from another: pixels, degrees, share of the scale."""
    return (np.hypot(pose[0] - true[0], pose[1] - true[1]), abs((pose[2] - true[2] + 180) % 360 - 180),
            abs(pose[3] / true[3] - 1))


@dataclasses.dataclass
class Judge:
    """Of several frames."""
    errors: list = dataclasses.field(default_factory=list)
    bounds: list = dataclasses.field(default_factory=list)  # the least errors that were possible
    parts: int = 0
    false: int = 0  # reported where there is none

    def add(self, found, true, bound):
        left = list(found)
        for pose in true:
            mine = [each for each in left if np.all(np.less(off(each, pose), (PLACE, ANGLE, SCALE)))]
            if mine:
                left.remove(mine[0])
                self.errors.append(off(mine[0], pose))
                self.bounds.append(bound)
        self.parts += len(true)
        self.false += len(left)

    def table(self):
        """Rows median, 95 % and bound (the median of those), columns pixels, degrees, share of the scale; not a number
        if nothing was found."""
        if not self.errors:
            return np.full((3, 3), np.nan)
        return np.stack([*np.quantile(self.errors, (0.5, 0.95), axis=0), np.median(self.bounds, axis=0)])
