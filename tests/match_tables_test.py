#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pages say what was measured of whole matches: match_tables_test.py BENCH_FOLDER"""
import pathlib
import sys
import unittest

sys.path.insert(0, sys.argv[1])
import match_tables  # noqa: E402 pylint: disable=wrong-import-position,import-error


class Tables(unittest.TestCase):
    def test_pages_have_what_was_measured(self):
        for page, how in match_tables.PAGES.items():
            with self.subTest(page=page):
                text = (pathlib.Path(sys.argv[1]).parent / page).read_text(encoding='utf-8')
                table = match_tables.table_of(match_tables.RESULTS, *how)
                self.assertEqual(match_tables.replaced(text, table), text)
                self.assertIn('| one of 64x64 | 0.', table)

    def test_another_table_is_seen(self):
        text = 'before\n' + match_tables.MARKS[0] + 'old\n' + match_tables.MARKS[1]
        self.assertEqual(match_tables.replaced(text, 'new\n'), text.replace('old', 'new'))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
