#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The formulas of docs/performance/growth.md hold for what was measured: growth_test.py BENCH_FOLDER

Their factors are those that bench/growth.py fits, where SciPy is there; without NumPy everything is skipped.
"""
import contextlib
import io
import pathlib
import re
import sys
import types
import unittest

BENCH = pathlib.Path(sys.argv[1])
RESULTS = BENCH / 'results/h200-growth.csv'
TWO_GPUS = BENCH / 'results/h200-x2-devices.csv'
PAGE = BENCH.parent / 'docs/performance/growth.md'
PROMISED = 0.15

sys.path.insert(0, str(BENCH))
try:
    import growth
except ModuleNotFoundError as missing:
    if missing.name != 'numpy':
        raise
    print('NumPy is missing')
    sys.exit(77)


def factors_of_page(ways):
    """Of each way, as the last column of its table has them."""
    table = dict(re.findall(r'^\| ([\w ]+) \| [^|]* \| (\d[^|]*) \|$', PAGE.read_text(encoding='utf-8'), re.M))
    return [[float(number) for number in re.findall(r'[\d.]+', table[way.name])] for way in ways]


class Formula(unittest.TestCase):
    results = RESULTS

    def setUp(self):
        _, self.rows = growth.rows_of_formula(self.results)
        self.ways = growth.WAYS[self.rows[0]['backend']]
        self.factors = factors_of_page(self.ways)

    def test_it_is_within_what_is_promised(self):
        self.assertGreater(len(self.rows), 30)
        error, row = growth.largest_error(self.factors, self.rows)
        self.assertLessEqual(abs(error), PROMISED, row)

    def test_a_wrong_factor_is_seen(self):
        self.factors[0][2] *= 2
        self.assertGreater(abs(growth.largest_error(self.factors, self.rows)[0]), PROMISED)

    def test_factors_are_those_that_are_fitted(self):
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said):
                growth.formula(types.SimpleNamespace(csv=self.results))
        except ImportError as missing:
            self.skipTest(str(missing))
        for way, factors in zip(self.ways, self.factors):
            self.assertIn(f'{way.name}: {" ".join(map(growth.short, factors))}\n', said.getvalue())


class FormulaOfCpu(Formula):
    results = BENCH / 'results/xeon-2-cores-growth.csv'


class Gpus(unittest.TestCase):
    def test_page_has_what_was_measured_in_device_memory(self):
        """Milliseconds of one, of two, half of one, and by how many % two are above that."""
        of_page = re.findall(r'^\| (?:one|256 in a bank), .* \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| (\d+) % \|$',
                             PAGE.read_text(encoding='utf-8'), re.M)
        lines = [line for line in TWO_GPUS.read_text(encoding='utf-8').splitlines() if ',device,' in line]
        measured = [[1000 / float(fps) for fps in line.split(',')[-3:-1]] for line in lines]
        self.assertEqual(len(of_page), len(measured))
        for said, (one, two) in zip(of_page, measured):
            digits = len(said[0].split('.')[1])
            self.assertEqual(said, (*(f'{ms:.{digits}f}' for ms in (one, two, one / 2)),
                                    f'{abs(200 * two / one - 100):.0f}'))


class Floor(unittest.TestCase):
    def setUp(self):
        _, self.rows = growth.rows_of(RESULTS)

    def test_nothing_is_below(self):
        for row in self.rows:
            self.assertLess(growth.floor_of(row)[0], float(row['stream_ms']), row)

    def test_it_never_falls_with_more_work(self):
        for sweep, of in (('count', 'templates'), ('angles', 'degrees'), ('targets', 'targets')):
            floors = [growth.floor_of(row)[0] for row in sorted(
                (row for row in self.rows if row['sweep'] == sweep), key=lambda row: int(row[of]))]
            self.assertEqual(floors, sorted(floors), sweep)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
