#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The formula of docs/performance/growth.md holds for what was measured: growth_test.py BENCH_FOLDER

Its factors are those that bench/growth.py fits, where SciPy is there; without NumPy everything is skipped.
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


def factors_of_page():
    """Of each way, as the table's last column has them."""
    table = dict(re.findall(r'^\| ([\w ]+) \| [^|]* \| (\d[^|]*) \|$', PAGE.read_text(encoding='utf-8'), re.M))
    return [[float(number) for number in re.findall(r'[\d.]+', table[way.name])] for way in growth.WAYS]


class Formula(unittest.TestCase):
    def setUp(self):
        _, rows = growth.rows_of(RESULTS)
        self.rows = [row for row in rows if row['sweep'] in growth.FORMULA_SWEEPS]

    def test_it_is_within_what_is_promised(self):
        self.assertGreater(len(self.rows), 40)
        error, row = growth.largest_error(factors_of_page(), self.rows)
        self.assertLessEqual(abs(error), PROMISED, row)

    def test_a_wrong_factor_is_seen(self):
        factors = factors_of_page()
        factors[0][2] *= 2
        self.assertGreater(abs(growth.largest_error(factors, self.rows)[0]), PROMISED)

    def test_factors_are_those_that_are_fitted(self):
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said):
                growth.formula(types.SimpleNamespace(csv=RESULTS))
        except ImportError as missing:
            self.skipTest(str(missing))
        for way, factors in zip(growth.WAYS, factors_of_page()):
            self.assertIn(f'{way.name}: {" ".join(f"{factor:.3g}" for factor in factors)}\n', said.getvalue())


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
