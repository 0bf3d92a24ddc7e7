#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""bench/calibrate_matches.py makes the cases that it says, and judges by them: match_calibration_test.py BENCH_FOLDER

Without NumPy everything is skipped, without the package xcorr what searches.
"""
import contextlib
import importlib.util
import io
import pathlib
import re
import sys
import unittest
from unittest import mock

FOLDER = pathlib.Path(sys.argv[1])


def photograph(seed):
    """Spots of all sizes."""
    random = np.random.default_rng(seed)
    made = np.zeros((240, 300), np.float32)
    for cell in (4, 10, 20):
        spots = random.uniform(0, 85, (240 // cell, 300 // cell)).astype(np.float32)
        made += np.kron(spots, np.ones((cell, cell), np.float32))
    return made


class Cases(unittest.TestCase):
    def test_parts_are_where_it_is_said(self):
        random, known = np.random.default_rng(1), [photograph(seed) for seed in range(3)]
        made = [cases.make(random, known[0], known[1:]) for _ in range(60)]
        there = [case for case in made if case.places]
        self.assertTrue(20 < len(there) < 45)
        alike = []
        for case in there:
            (x, y), (height, width) = case.places[0], case.template.shape
            window = case.frame[y:y + height, x:x + width]
            alike.append(np.corrcoef(window.ravel(), case.template.ravel())[0, 1])
        self.assertGreater(np.median(alike), 0.7)

    def test_which_places_are_right(self):
        case = cases.Case(None, None, [(5, 7), (50, 60)], 1)
        peaks = [{'x': 6.9, 'y': 5.5}, {'x': 8, 'y': 7}, {'x': 50, 'y': 60}]
        meant = {tuple(case.right(np.random.default_rng(seed), peaks)) for seed in range(20)}
        self.assertEqual(meant, {(True, False, False), (False, False, True)})


class Program(unittest.TestCase):
    def setUp(self):
        if not importlib.util.find_spec('xcorr'):
            self.skipTest('no package xcorr')

    def said(self, *arguments):
        import calibrate_matches
        said = io.StringIO()
        known = {str(seed): photograph(seed) for seed in range(3)}
        with mock.patch('posing.images.photographs', lambda: known), contextlib.redirect_stdout(said), \
                mock.patch('sys.argv', ['calibrate_matches.py', *arguments]):
            calibrate_matches.main()
        return said.getvalue()

    def test_calibration(self):
        text = self.said('--cases=25')
        score, mean = map(float, re.search(r'Brier score ([\d.]+) \(always the mean: ([\d.]+)\)', text).groups())
        self.assertLess(score, mean)
        self.assertEqual(text.count('places: said'), len(re.findall(r'right [\d.]+$', text, re.MULTILINE)))

    def test_fit(self):
        text = self.said('--fit', '--cases=40')
        peak, lead, offset = map(float, text.splitlines()[0].split(':')[1].split())
        self.assertTrue(lead > 0 > offset, text)
        self.assertEqual(len(text.splitlines()), 4)


if __name__ == '__main__':
    if not importlib.util.find_spec('numpy'):
        print('no NumPy: nothing was tested')
        sys.exit(77)
    sys.path.insert(0, str(FOLDER))
    import numpy as np
    from matching import cases
    unittest.main(argv=sys.argv[:1], verbosity=2)
