#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""bench/compare.py tells right results from wrong ones, and so does bench/matches.py.

    compare_test.py BENCH_FOLDER MATCH_BENCH WINDOW_BENCH

On the CPU with small frames, beside a peer made of NumPy here, so that no other is needed; then its
figures. Without NumPy and something that reads photographs everything is skipped, without Matplotlib the figures are.
"""
import contextlib
import csv
import importlib.util
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest

FOLDER, MATCH_BENCH, WINDOW_BENCH = map(pathlib.Path, sys.argv[1:])
SMALL = ['--backend=cpu', '--seconds=0.001', '--frame=96x64', '--side=8', '--sides=8,12', '--counts=1,3',
         '--frames=80x48,96x64', '--contents=photographs,noise']
ONE = ['--sides=8', '--counts=1', '--frames=96x64']  # instead: one problem
ROWS = ['side count frame', 'side', 'count', 'frame']  # sweeps of the problems that these make

# Says that every peak lies two pixels further right.
WRONG_BENCH = f"""#!{sys.executable}
import re, subprocess, sys
path, = (arg[8:] for arg in sys.argv if arg.startswith('--peaks='))
status = subprocess.run(['{MATCH_BENCH}', *sys.argv[1:]]).returncode
text = open(path).read()
open(path, 'w').write(re.sub(r'^(\\d+),([\\d.]+)', lambda m: f'{{m[1]}},{{float(m[2]) + 2}}', text, flags=re.M))
sys.exit(status)
"""


def transforms(problem):
    """Products by NumPy's FFT."""
    height, width = problem.valid
    spectra = np.fft.rfft2(problem.centred, s=problem.frame.shape).conj()
    return lambda: np.fft.irfft2(np.fft.rfft2(problem.frame) * spectra, s=problem.frame.shape)[:, :height, :width]


def scores(problem):
    """1 where the template was cut out, less elsewhere."""
    surfaces = np.zeros((problem.count, *problem.valid), dtype=np.float32)
    for surface, (x, y) in zip(surfaces, problem.places):
        surface[y, x] = 1
    return lambda: surfaces


@contextlib.contextmanager
def wrong_bench():
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, 'wrong_bench')
        program.write_text(WRONG_BENCH, encoding='utf-8')
        program.chmod(0o755)
        yield program


def changed(prepare, change):
    return lambda problem: lambda: change(prepare(problem)())


class Compare(unittest.TestCase):
    def compare(self, computes, prepare, *more):
        """(how many results were wrong, {program: its rows}, what was said) beside one peer."""
        peer = peers.Peer('numpy', computes, 'cpu', 'NumPy', prepare, tolerance=1e-6)
        file, said = io.StringIO(), io.StringIO()
        comparison = compare.Comparison(compare.parse([*SMALL, f'--match-bench={MATCH_BENCH}', *more]), file, [peer])
        with contextlib.redirect_stderr(said):
            comparison.run()
        lines = file.getvalue().splitlines()
        self.assertRegex(lines[0], '^# .*commit ')
        self.assertEqual(lines[1], '# beside NumPy')
        rows = list(csv.DictReader(lines[2:]))
        return (comparison.wrong, {name: [row for row in rows if row['program'] == name]
                                   for name in ('cudaxcorr', 'numpy')}, said.getvalue())

    def test_right_ones(self):
        for computes, prepare in (('products', transforms), ('scores', scores)):
            wrong, rows, said = self.compare(computes, prepare)
            self.assertEqual(wrong, 0, said)
            for name, contents in (('cudaxcorr', ['photographs', 'noise']), ('numpy', ['photographs'])):
                mine = rows[name]
                self.assertEqual([(row['content'], row['sweeps']) for row in mine],
                                 [(content, sweeps) for content in contents for sweeps in ROWS])
                self.assertTrue(all(float(row['stream_ms']) > 0 and float(row['latency_ms']) > 0 for row in mine))
        self.assertEqual([(row['width'], row['height'], row['side'], row['templates']) for row in rows['numpy']],
                         [('96', '64', '8', '1'), ('96', '64', '12', '1'), ('96', '64', '8', '3'),
                          ('80', '48', '8', '1')])

    def test_wrong_ones(self):
        changes = {'shifted': lambda surfaces: np.roll(surfaces, 1, axis=2),
                   'not a number': lambda surfaces: surfaces * np.nan,
                   'scaled': lambda surfaces: surfaces * 1.01,
                   'too small': lambda surfaces: surfaces[:, :-1]}
        for computes, prepare in (('products', transforms), ('scores', scores)):
            for name, change in changes.items():
                with self.subTest(f'{computes}, {name}'):
                    wrong, rows, said = self.compare(computes, changed(prepare, change), *ONE)
                    self.assertEqual(wrong, 1)
                    self.assertEqual(rows['numpy'], [])
                    self.assertEqual(len(rows['cudaxcorr']), 2)
                    self.assertIn('WRONG', said)

    def test_one_that_cannot(self):
        def prepare(problem):
            raise MemoryError(f'no room for {problem}')

        wrong, rows, said = self.compare('scores', prepare, *ONE)
        self.assertEqual((wrong, rows['numpy']), (0, []))
        self.assertIn('cannot: no room for photographs, 96x64, 1 of 8x8', said)

    def test_unknown_content(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said), self.assertRaises(SystemExit):
            compare.parse(['--contents=photographs,music'])
        self.assertIn("no content is called 'music'", said.getvalue())

    def run_it(self, match_bench, output):
        return subprocess.run([sys.executable, FOLDER / 'compare.py', *SMALL, f'--match-bench={match_bench}',
                               f'--output={output}', '--peers='], text=True, capture_output=True, check=False)

    def test_wrong_peaks_of_ours(self):
        with wrong_bench() as program:
            done = self.run_it(program, '-')
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count('WRONG: template 0'), 2 * len(ROWS), done.stderr)
        self.assertNotIn('\ncudaxcorr,', done.stdout)

    def test_no_match_bench(self):
        done = self.run_it('/nowhere/match_bench', '-')
        self.assertEqual(done.returncode, 1)
        self.assertIn('/nowhere/match_bench', done.stderr)
        self.assertNotIn('Traceback', done.stderr)

    def test_figures(self):
        if not importlib.util.find_spec('matplotlib'):
            self.skipTest('no Matplotlib')
        with tempfile.TemporaryDirectory() as folder:
            results = f'{folder}/results.csv'
            done = self.run_it(MATCH_BENCH, results)
            self.assertEqual(done.returncode, 0, done.stderr)
            images = []
            for turn in ('first', 'second'):
                subprocess.run([sys.executable, FOLDER / 'plot_compare.py', results, f'--output={folder}/{turn}'],
                               check=True)
                images.append({path.name: path.read_text(encoding='utf-8')
                                 for path in sorted(pathlib.Path(folder, turn).iterdir())})
        self.assertEqual(list(images[0]), ['comparison.svg', 'speed.svg'])
        self.assertEqual(images[0], images[1])
        for text in images[0].values():
            self.assertIn('#e8590c', text)  # a line of ours
            self.assertIn('>cudaxcorr: scores and peaks<', text)  # its name, as text
            self.assertNotIn('dc:date', text)
            self.assertIn('>cudaxcorr in noise<', text)


class Matches(unittest.TestCase):
    def run_it(self, match_bench):
        return subprocess.run([sys.executable, FOLDER / 'matches.py', '--backend=cpu', '--seconds=0.001',
                               '--contents=video,noise', '--frame=160x96', '--other-frames=64x64', '--sides=16,24',
                               f'--match-bench={match_bench}'], text=True, capture_output=True, check=False)

    def test_rows(self):
        done = self.run_it(MATCH_BENCH)
        self.assertEqual(done.returncode, 0, done.stderr)
        head, *table = done.stdout.splitlines()
        self.assertRegex(head, '^# .*commit .*; matches.py --seconds=0.001$')
        rows = [(row['content'], row['width'], row['side'], row['templates'], row['mask'], row['peaks'])
                for row in csv.DictReader(table)]
        self.assertEqual(rows, [row for content in ('video', 'noise') for row in
                                [(content, '160', side, count, mask, count) for mask in ('none', 'disc')
                                 for side in ('16', '24') for count in ('1', '32')] +
                                [(content, '64', '16', '1', 'none', '1')]])

    def test_wrong_peaks(self):
        with wrong_bench() as program:
            done = self.run_it(program)
        self.assertEqual(done.returncode, 1)
        self.assertIn('WRONG: template 0', done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 2)  # what ran, and the columns


class Images(unittest.TestCase):
    def test_sizes(self):
        for content in images.CONTENTS:
            for width, height in ((64, 48), (1000, 300), (4000, 1500)):
                frame = images.CONTENTS[content](width, height)
                self.assertEqual((frame.shape, frame.dtype), ((height, width), np.uint8), content)
                self.assertGreater(frame.std(), 15, content)
                self.assertTrue(np.array_equal(frame, images.CONTENTS[content](width, height)), content)

    def test_files(self):
        """Benchmarks read them, and what is on them is found at poses near the last one."""
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, FOLDER / 'images.py', folder], check=True)
            self.assertEqual(sorted(path.stem for path in pathlib.Path(folder).iterdir()),
                             sorted([*images.CONTENTS, 'colors']))
            done = subprocess.run([WINDOW_BENCH, '--backend=cpu', '--seconds=0', '--windows=1', '--max-peaks=1',
                                   f'--frame={folder}/photographs.pgm', '--poses'],
                                  check=True, text=True, stdout=subprocess.PIPE)
        rows = [(row['peaks'], row['content'], row['poses']) for row in csv.DictReader(done.stdout.splitlines())]
        self.assertEqual(rows, [('1', 'photographs.pgm', '15 degrees and 10 %')] * 2)

    def test_nothing_is_there_twice(self):
        frame = images.collage(1920, 1080)
        parts = {frame[y:y + 45, x:x + 45].tobytes() for y in range(0, 1080, 45) for x in range(0, 1920, 45)}
        self.assertEqual(len(parts), len(range(0, 1080, 45)) * len(range(0, 1920, 45)))


if __name__ == '__main__':
    numpy, opencv, pillow = (importlib.util.find_spec(name) for name in ('numpy', 'cv2', 'PIL'))
    if not numpy or not (opencv or pillow):
        print('no NumPy, or neither OpenCV nor Pillow: nothing was tested')
        sys.exit(77)
    sys.path.insert(0, str(FOLDER))
    import numpy as np
    import compare
    import peers
    import images
    unittest.main(argv=sys.argv[:1], verbosity=2)
