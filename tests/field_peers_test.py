#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""bench/field_peers.py reads what field_bench writes, and counts right: field_peers_test.py BENCH_FOLDER FIELD_BENCH

Without NumPy everything is skipped, without the package xcorr what measures.
"""
import contextlib
import importlib.util
import io
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

FOLDER, FIELD_BENCH = map(pathlib.Path, sys.argv[1:])


class Pairs(unittest.TestCase):
    def test_what_is_written(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([FIELD_BENCH, f'--write={folder}', '--filter=vortices, mild'], check=True)
            stem = f'{folder}/vortices, mild-1-'
            before, after = (field_peers.read_pgm(pathlib.Path(f'{stem}{name}.pgm')) for name in ('before', 'after'))
            truth = field_peers.Truth(f'{stem}truth.f32', before.shape)
            self.assertEqual(len(list(pathlib.Path(folder).iterdir())), 6)
        self.assertEqual((before.shape, after.shape), ((512, 512), (512, 512)))
        y, x = np.mgrid[20.0:492, 20:492]
        dx, dy = truth.at(x, y)
        self.assertGreater(np.hypot(dx, dy).max(), 3)

        def alike(dx, dy):
            there = after[np.rint(y + dy).astype(int), np.rint(x + dx).astype(int)]
            return np.corrcoef(before[20:492, 20:492].ravel(), there.ravel())[0, 1]
        self.assertGreater(alike(dx, dy), 0.6)
        self.assertGreater(alike(dx, dy), 3 * alike(0 * dx, 0 * dy))
        self.assertGreater(alike(dx, dy), 3 * alike(dy, dx))

    def test_no_folder(self):
        done = subprocess.run([FIELD_BENCH, '--write=/nowhere', '--filter=vortices, mild'], text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn('/nowhere/vortices, mild-0-before.pgm: cannot be written', done.stderr)


class Counting(unittest.TestCase):
    def setUp(self):
        y, x = np.mgrid[:100, :120]
        planes = np.stack([0.05 * x, 0.02 * y]).astype(np.float32)
        with tempfile.NamedTemporaryFile() as file:
            planes.tofile(file.name)
            self.truth = field_peers.Truth(file.name, (100, 120))

    def test_truth(self):
        x, y = np.array([50, 60.25]), np.array([50, 40.5])
        np.testing.assert_allclose(self.truth.at(x, y), [0.05 * x, 0.02 * y], rtol=1e-6)
        # What began at x is at 1.05 x; the middle of the way is 1.025 x.
        np.testing.assert_allclose(self.truth.halfway(1.025 * x, 1.01 * y), [0.05 * x, 0.02 * y], rtol=1e-6)

    def test_errors(self):
        errors = field_peers.Errors()
        x, y = np.array([50, 51, 52, 53, 10.0]), np.full(5, 49.5)
        dx, dy = 0.05 * x + [0.1, 0.3, 2, np.nan, 9], 0.02 * y
        errors.add((x, y, dx, dy, False), self.truth, (100, 120), 0.5)
        rms, mean, outliers, took = errors.columns()
        self.assertEqual((rms, mean, outliers, took), (f'{np.sqrt(0.1 / 4):.4f}', '0.2000', '50.00 %', '500'))

    def test_a_parabola(self):
        self.assertAlmostEqual(field_peers.vertex(*(-(x - 0.3) ** 2 for x in (-1, 0, 1))), 0.3)
        self.assertEqual(field_peers.vertex(1, 1, 1), 0)


class Program(unittest.TestCase):
    def test_it_measures(self):
        if not hasattr(field_peers.xcorr, 'FieldMatcher'):
            self.skipTest('no package xcorr')
        said = io.StringIO()
        ours = {name: program for name, program in field_peers.PROGRAMS.items() if name.startswith('xcorr')}
        with unittest.mock.patch.object(field_peers, 'PROGRAMS', ours), contextlib.redirect_stdout(said):
            field_peers.main([f'--field-bench={FIELD_BENCH}', '--filter=vortices, mild'])
        rms = {words[2]: float(words[3]) for words in (line.split(' | ') for line in
               said.getvalue().replace('| vortices', '| | vortices').splitlines()[2:])}
        self.assertEqual(set(rms), set(ours))
        self.assertLess(rms['xcorr, least squares 1'], 0.04)
        self.assertGreater(rms['xcorr, gauss'], 0.08)


if __name__ == '__main__':
    if not importlib.util.find_spec('numpy'):
        print('no NumPy: nothing was tested')
        sys.exit(77)
    import unittest.mock
    import numpy as np
    if not importlib.util.find_spec('xcorr'):
        sys.modules['xcorr'] = types.ModuleType('xcorr')
    sys.path.insert(0, str(FOLDER))
    import field_peers
    result = unittest.main(argv=sys.argv[:1], exit=False, verbosity=2).result
    bad, skipped = len(result.failures) + len(result.errors), len(result.skipped)
    print(f'{max(0, result.testsRun - bad - skipped)} passed, {bad} failed, {skipped} skipped')
    sys.exit(bad != 0)
