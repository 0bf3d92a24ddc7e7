#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""bench/paper.py measures the paper's problems and says what follows: paper_test.py BENCH_FOLDER CHECKCORR

The smallest problems on the CPU, and made-up times. Without Matplotlib figures are skipped.
"""
import contextlib
import csv
import importlib.util
import io
import pathlib
import sys
import tempfile
import unittest

FOLDER, CHECKCORR = map(pathlib.Path, sys.argv[1:])


def row(case, variant, ms, step='run', products='1'):
    return {'backend': 'cuda', 'stage': 'correlate', 'type': 'f32', 'case': case, 'variant': variant, 'step': step,
            'median_ms': ms, 'products': products}


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def results(self, rows):
        path = self.folder / 'made-up.csv'
        with path.open('w', encoding='utf-8') as file:
            file.write('# a made-up GPU\n')
            table = csv.DictWriter(file, rows[0])
            table.writeheader()
            table.writerows(rows)
        return Results([path])


class WhatFollows(Folder):
    def test_problems_have_names(self):
        for case, counts, products in (('paper-1to1-16', '1 to 1', 16 ** 4),
                                       ('paper-1to32-64', '1 to 32', 32 * 64 ** 4),
                                       ('paper-8to8-32', '8 to 8', 64 * 32 ** 4),
                                       ('paper-86by50-96', '86 to 86 x 50', 4300 * 96 ** 4)):
            problem = problem_of(case)
            self.assertEqual((problem.counts, problem.products, case_of(problem)), (counts, products, case))
        self.assertIsNone(problem_of('held-1to1-24'))

    def test_what_is_fast(self):
        results = self.results([
            row('paper-1to1-64', 'overlap_wise', 6), row('paper-1to1-64', 'split_row.j1t', 3),
            row('paper-1to1-64', 'split_row.j4t', 2, 'kernel'), row('paper-1to1-64', 'fft', 1),
            row('paper-1to1-64', 'fft', 0.5, 'kernel'), row('paper-1to1-64', 'fft_shared.m24', 0.9)])
        problem, = results.ms
        self.assertEqual(results.best(problem), (2, 'split_row.j4t'))
        self.assertEqual((results.basic(problem), results.speedup(problem)), (6, 3))
        self.assertEqual(results.transform(problem), 1)  # of its rights too: not the launch alone
        self.assertEqual(results.families(problem), {'overlap_wise': 6, 'split_row': 2, 'fft': 1, 'fft_shared': 0.9})
        self.assertEqual(results.plan, {})
        self.assertEqual(results.measured('speedup', problem), 3)
        self.assertIsNone(results.measured('speedup', problem._replace(side=512)))

    def test_plans(self):
        steps = {'prepare': 4, 'transfer': 100, 'rights': 2, 'kernel': 1, 'finalize': 100, 'whole': 207}
        results = self.results([row('paper-1to1-64', 'fft', ms, step) for step, ms in steps.items()])
        self.assertEqual(list(results.plan.values()), [7])

    def test_where_transforms_take_over(self):
        times = {16: (1, 4), 32: (1, 2), 128: (8, 1), 256: (90, 1)}  # side: by the definition, by transform
        results = self.results([row(f'paper-1to1-{side}', name, ms) for side, pair in times.items()
                                for name, ms in zip(('register_tile.x4', 'fft'), pair)])
        # On both axes' logarithms the lines cross at a fourth of the way from 32 to 128.
        self.assertAlmostEqual(results.measured('fft_from', problem_of('paper-1to1-16')), 32 * 4 ** 0.25)
        self.assertIsNone(results.measured('plan_from', problem_of('paper-1to1-16')))
        self.assertIsNone(results.measured('fft_from', problem_of('paper-1to8-16')))

    def test_large_problems_get_the_best_of_each_family(self):
        small, large = problem_of('paper-1to8-64'), problem_of('paper-1to100-256')
        results = self.results([row('paper-1to8-64', name, ms) for name, ms in
                                (('split_row.a', 3), ('split_row.b', 2), ('fft', 1), ('overlap_wise', 9))])
        self.assertEqual(contenders(results, large, [small]), ['fft', 'split_row.b', 'overlap_wise'])
        self.assertEqual(contenders(results, problem_of('paper-8to8-128'), [small]), ['*'])

    def test_what_is_published(self):
        said = {(each.quantity, each.problem, each.source): each.value for each in published()}
        self.assertEqual(said['ms', problem_of('paper-86by50-96'), 'paper 5.6'], 79)
        self.assertEqual({each.quantity for each in published()}, set(QUANTITIES))


class Program(Folder):
    def run_it(self, *arguments):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            paper.main([str(argument) for argument in arguments])
        return said.getvalue()

    def test_it_measures(self):
        path = self.folder / 'cpu.csv'
        self.run_it('measure', f'--checkcorr={CHECKCORR}', '--backend=cpu', '--every=3e5', '--most=1.1e6',
                    '--seconds=0.001', path)
        lines = path.read_text(encoding='utf-8').splitlines()
        self.assertEqual([line[:8] for line in lines if not line.startswith('cpu,')], [lines[0][:8], 'backend,'])
        results = Results([path])
        small, large = problem_of('paper-1to2-16'), problem_of('paper-1to1-32')
        self.assertEqual(set(results.ms[small]), {'reference', 'direct', 'fft'})
        self.assertEqual(set(results.ms[large]), {'reference', 'direct', 'fft'})
        self.assertTrue(all(problem.products <= 1.1e6 for problem in results.ms))
        self.assertEqual({problem.form for problem in results.ms}, {'one_to_one', 'one_to_many', 'n_to_m'})
        self.assertGreater(results.plan[small], 0)
        self.assertNotIn(large, results.plan)

        figures = self.folder / 'figures'
        more = [f'--figures={figures}'] if importlib.util.find_spec('matplotlib') else []
        text = self.run_it('report', path, *more)
        self.assertIn('| 1 to 2, 16 |', text)
        row = text.split('| one to one, 1 to 1, 16x16: speedup')[1].splitlines()[0]
        self.assertEqual(row.split(' | ')[2].strip(' |'),
                         f'{results.speedup(problem_of("paper-1to1-16")):.1f}')
        if more:
            drawn = {each.stem: each.read_text(encoding='utf-8') for each in figures.iterdir()}
            self.assertEqual(set(drawn), {'paper-times', 'paper-speedup', 'paper-families', 'paper-steps'})
            self.assertIn('>direct<', drawn['paper-steps'])
            self.assertIn('>1 to 2<', drawn['paper-times'])
            self.run_it('report', path, f'--figures={figures}', '--format=png')
            self.assertEqual((figures / 'paper-times.png').read_bytes()[:4], b'\x89PNG')

    def test_what_cannot_be(self):
        with self.assertRaisesRegex(SystemExit, '/nowhere/checkcorr: No such file'):
            self.run_it('measure', '--checkcorr=/nowhere/checkcorr', self.folder / 'a.csv')
        self.results([row('1080p-16', 'fft', 1)])
        with self.assertRaisesRegex(SystemExit, "none of the paper's problems"):
            self.run_it('report', self.folder / 'made-up.csv')


if __name__ == '__main__':
    sys.path.insert(0, str(FOLDER))
    import paper
    from published.measuring import contenders
    from published.problems import case_of, problem_of
    from published.results import Results, published
    from published.writing import QUANTITIES
    unittest.main(argv=sys.argv[:1], verbosity=2)
