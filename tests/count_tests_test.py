#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""scripts/count_tests.py counts the cases of every kind of program: count_tests_test.py COUNT_TESTS"""
import importlib.util
import sys
import unittest

spec = importlib.util.spec_from_file_location('count_tests', sys.argv[1])
count_tests = importlib.util.module_from_spec(spec)
spec.loader.exec_module(count_tests)


def count(result='OK', stdout='', stderr=''):
    return count_tests.count({'result': result, 'stdout': stdout, 'stderr': stderr})


class Count(unittest.TestCase):
    def test_programs_that_count(self):
        for said, expected in {
                '9 passed, 1 failed, 2 skipped\n': (9, 1, 2),
                '80%: Checks: 10, Failures: 1, Errors: 1\n100%: Checks: 5, Failures: 0, Errors: 0\n': (13, 2, 0),
                '[==========] 7 tests from 2 test suites ran. (3 ms total)\n[  PASSED  ] 6 tests.\n'
                '[  FAILED  ] 1 test, listed below:\n': (6, 1, 0),
                'Ran 1 test in 0.001s\n\nOK\n': (1, 0, 0),
                'Ran 9 tests in 0.060s\n\nFAILED (failures=1, errors=2, skipped=1)\n': (5, 3, 1),
                'Ran 0 tests in 0.000s\n\nOK (skipped=1)\n': (0, 0, 1),
                '1 failed, 20 passed, 3 skipped, 2 warnings, 1 error in 61.02s (0:01:01)\n': (20, 2, 3)}.items():
            self.assertEqual(count('FAIL' if expected[1] else 'OK', stdout=said), expected, said)
            self.assertEqual(count('FAIL' if expected[1] else 'OK', stderr=said), expected, said)

    def test_programs_that_do_not(self):
        self.assertEqual(count(stdout='all is well\n'), (1, 0, 0))
        self.assertEqual(count('FAIL'), (0, 1, 0))
        self.assertEqual(count('SKIP', stdout='there is no GPU\n'), (0, 0, 1))
        self.assertEqual(count('TIMEOUT', stdout='9 passed, 0 failed, 0 skipped\n'), (9, 1, 0))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
