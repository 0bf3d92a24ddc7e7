#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""bench/field_peers.py reads what field_bench writes, and counts right: field_peers_test.py BENCH_FOLDER FIELD_BENCH

Without NumPy everything is skipped, without the package xcorr what measures.
"""
import contextlib
import csv
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
            self.assertEqual(len(list(pathlib.Path(folder).iterdir())), 6)
            pairs = list(field_peers.drawn_pairs(pathlib.Path(folder)))
        self.assertEqual([pair.case for pair in pairs], 2 * ['vortices, mild'])
        pair = pairs[1]
        self.assertEqual((pair.before.shape, pair.after.shape), ((512, 512), (512, 512)))
        y, x = np.mgrid[20.0:492, 20:492]
        dx, dy = pair.truth(x, y, False)
        self.assertGreater(np.hypot(dx, dy).max(), 3)

        def alike(dx, dy):
            there = pair.after[np.rint(y + dy).astype(int), np.rint(x + dx).astype(int)]
            return np.corrcoef(pair.before[20:492, 20:492].ravel(), there.ravel())[0, 1]
        self.assertGreater(alike(dx, dy), 0.6)
        self.assertGreater(alike(dx, dy), 3 * alike(0 * dx, 0 * dy))
        self.assertGreater(alike(dx, dy), 3 * alike(dy, dx))

    def test_no_folder(self):
        done = subprocess.run([FIELD_BENCH, '--write=/nowhere', '--filter=vortices, mild'], text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn('/nowhere/vortices, mild-0-before.pgm: cannot be written', done.stderr)


    def test_given_pairs(self):
        if not importlib.util.find_spec('PIL'):
            self.skipTest('no Pillow')
        from PIL import Image  # pylint: disable=import-outside-toplevel
        flow = np.random.default_rng(1).normal(size=(6, 8, 2)).astype(np.float32)
        with tempfile.TemporaryDirectory() as folder:
            for name in ('a_b_00002', 'a_b_00001', 'c_1'):
                for number in (1, 2):
                    Image.fromarray(np.full((6, 8), 10 * number, np.uint8)).save(f'{folder}/{name}_img{number}.tif')
                with open(f'{folder}/{name}_flow.flo', 'wb') as file:
                    file.write(b'PIEH' + np.array([8, 6], np.int32).tobytes() + flow.tobytes())
            pairs = list(field_peers.given_pairs(pathlib.Path(folder)))
        self.assertEqual([pair.case for pair in pairs], ['a_b', 'a_b', 'c'])
        self.assertEqual((pairs[0].before[0, 0], pairs[0].after[0, 0], pairs[0].of_middle), (10, 20, True))
        np.testing.assert_array_equal(pairs[0].planes, flow.transpose(2, 0, 1))


class Counting(unittest.TestCase):
    @staticmethod
    def pair(of_middle):
        y, x = np.mgrid[:100, :120]
        image = np.zeros((100, 120), np.uint8)
        return field_peers.Pair('', image, image, np.stack([0.05 * x, 0.02 * y]), of_middle)

    def test_truth(self):
        x, y = np.array([50, 60.25]), np.array([50, 40.5])
        begun, middle = self.pair(False), self.pair(True)
        np.testing.assert_allclose(begun.truth(x, y, False), [0.05 * x, 0.02 * y], rtol=1e-6)
        np.testing.assert_allclose(middle.truth(x, y, True), [0.05 * x, 0.02 * y], rtol=1e-6)
        # What began at x is at 1.05 x; the middle of the way is 1.025 x.
        np.testing.assert_allclose(begun.truth(1.025 * x, 1.01 * y, True), [0.05 * x, 0.02 * y], rtol=1e-6)
        np.testing.assert_allclose(middle.truth(0.975 * x, 0.99 * y, False), [0.05 * x, 0.02 * y], rtol=1e-6)

    def test_errors(self):
        errors = field_peers.Errors()
        x, y = np.array([50, 51, 52, 53, 10.0]), np.full(5, 49.5)
        dx, dy = 0.05 * x + [0.1, 0.3, 2, np.nan, 9], 0.02 * y
        row = errors.add((x, y, dx, dy, False), self.pair(False), 48, 0.5)
        self.assertEqual(row, ['2.57500', '0.99000', '0.20000', '0.00000', f'{np.sqrt(0.05):.5f}', '0.00000', 4, 2])
        nothing = field_peers.Errors().add((x, y, np.nan * x, dy, False), self.pair(False), 48, 0.5)
        self.assertEqual(nothing[2:], 4 * ['nan'] + [4, 4])
        rms, mean, outliers, took = errors.columns()
        self.assertEqual((rms, mean, outliers, took), (f'{np.sqrt(0.1 / 4):.4f}', '0.2000', '50.00 %', '500'))

    def test_all_vectors_inside_the_margin(self):
        x, y = np.array([50, 51, 52, 10.0]), np.full(4, 49.5)
        dx, dy = 0.05 * x + [0.1, 0.3, 2, 9], 0.02 * y
        self.assertAlmostEqual(fields_openpiv.rms((x, y, dx, dy, False), self.pair(False)), np.sqrt(4.1 / 6))

    def test_a_parabola(self):
        self.assertAlmostEqual(field_peers.vertex(*(-(x - 0.3) ** 2 for x in (-1, 0, 1))), 0.3)
        self.assertEqual(field_peers.vertex(1, 1, 1), 0)


class Program(unittest.TestCase):
    def test_it_measures(self):
        if not hasattr(field_peers.xcorr, 'FieldMatcher'):
            self.skipTest('no package xcorr')
        said = io.StringIO()
        ours = {name: program for name, program in field_peers.PROGRAMS.items() if name.startswith('xcorr')}
        with unittest.mock.patch.object(field_peers, 'PROGRAMS', ours), contextlib.redirect_stdout(said), \
                tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / 'pairs.csv'
            field_peers.main([f'--field-bench={FIELD_BENCH}', '--filter=vortices, mild', f'--csv={path}'])
            note, *lines = path.read_text(encoding='utf-8').splitlines()
        rms = {words[2]: float(words[3]) for words in (line.split(' | ') for line in
               said.getvalue().replace('| vortices', '| | vortices').splitlines()[2:])}
        self.assertEqual(set(rms), set(ours))
        self.assertLess(rms['xcorr, least squares 1'], 0.04)
        self.assertGreater(rms['xcorr, gauss'], 0.08)
        rows = list(csv.DictReader(lines))
        self.assertTrue(note.startswith('# '))
        self.assertEqual([row['program'] for row in rows], 2 * list(ours))
        for name, found in rms.items():
            squares = [float(row[column]) ** 2 for row in rows if row['program'] == name
                       for column in ('rms_x', 'rms_y')]
            self.assertAlmostEqual(np.sqrt(np.mean(squares)), found, delta=2e-4)


class Plot(unittest.TestCase):
    def test_curves(self):
        if not importlib.util.find_spec('matplotlib'):
            self.skipTest('no Matplotlib')
        with tempfile.TemporaryDirectory() as folder:
            path, out = pathlib.Path(folder, 'pairs.csv'), pathlib.Path(folder, 'bias.svg')
            rows = [('speckles', 'xcorr, gauss', 3.5, 0, 0.25), ('speckles', 'xcorr, gauss', 3, 0, -0.25),
                    ('vortices, mild', 'xcorr, gauss', 3, 0, 0.5)]
            with open(path, 'w', encoding='utf-8') as file:
                file.write('# machine\n')
                csv.writer(file).writerows([field_peers.COLUMNS[:5], *rows])
            import plot_fields  # pylint: disable=import-outside-toplevel
            self.assertEqual(plot_fields.read(path)['speckles', 'xcorr, gauss'], [(3, -0.25), (3.5, 0.25)])
            with unittest.mock.patch.object(sys, 'argv', ['', str(path), f'--output={out}']):
                plot_fields.main()
            drawn = out.read_text(encoding='utf-8')
        self.assertIn('>xcorr, gauss<', drawn)
        self.assertNotIn('OpenPIV', drawn)


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
    import fields_openpiv
    unittest.main(argv=sys.argv[:1], verbosity=2)
