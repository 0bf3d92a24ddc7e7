#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What counts as printed by a command, and what does not."""
import sys
import unittest

import printed

FOUND = ['Setting pipeline to PLAYING ...', '#1 tentative x 296.0  y 216.0  score 1.000',
         '#1 tracked   x 305.6  y 225.6  score 0.781', '#1 tracked   x 315.0  y 235.3  score 0.781',
         '  149    434.61    38.21   0.9867 tracked', 'frames=150 found=108 max_error_px=0.301 fps=477.0 refound=yes']


class Printed(unittest.TestCase):
    def test_what_is_there(self):
        self.assertTrue(printed.has(FOUND, FOUND))
        self.assertTrue(printed.has(FOUND, FOUND[2:3]))
        self.assertTrue(printed.has(FOUND, [FOUND[1], '...', FOUND[3], FOUND[4]]))
        self.assertTrue(printed.has(FOUND, ['#1 tracked x 305.7 y 225.5 score 0.79']))
        self.assertTrue(printed.has(FOUND, ['frames=150 found=108 max_error_px=0.31 fps=20 refound=yes']))

    def test_what_is_not(self):
        for shown in (['#1 tracked x 305.6 y 225.6 score 0.994'], ['#1 tracked x 306.0 y 225.6 score 0.781'],
                      ['#2 tracked x 305.6 y 225.6 score 0.781'], ['#1 lost x 305.6 y 225.6 score 0.781'],
                      ['149 434.61 38.21 -0.9867 tracked'], ['149 434.61 38.21 0.9867'], FOUND[1:4:2],
                      [FOUND[3], '...', FOUND[2]], [FOUND[2], '...', FOUND[2]],
                      ['frames=150 found=109 max_error_px=0.301 fps=477.0 refound=yes'], [*FOUND, 'more']):
            with self.subTest(shown=shown):
                self.assertFalse(printed.has(FOUND, shown))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
