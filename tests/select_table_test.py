#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""bench/select_table.py picks the fastest variant: select_table_test.py SELECT_TABLE"""

import subprocess
import sys
import tempfile
import unittest

COLUMNS = 'backend,device,stage,variant,type,left_w,left_h,right_w,right_h,rights,median_ms,min_ms,mac_per_s\n'


class SelectTable(unittest.TestCase):
    script = ''

    def table(self, *texts):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for index, text in enumerate(texts):
                paths.append(f'{folder}/{index}.csv')
                with open(paths[-1], 'w', encoding='utf-8') as file:
                    file.write(text)
            done = subprocess.run([sys.executable, self.script, *paths, '--output=-'], text=True,
                                  capture_output=True, check=False)
            return done.returncode, [line for line in done.stdout.splitlines() if line.startswith('{')]

    def test_fastest_of_each_problem(self):
        status, rows = self.table(
            '# a machine, a commit\n' + COLUMNS +
            'cpu,"A CPU, fast",correlate,reference,u8,20,10,4,3,1,0.1,0.1,0\n'
            'cpu,"A CPU, fast",correlate,direct,u8,20,10,4,3,1,2,1,0\n'
            'cpu,"A CPU, fast",correlate,fft,u8,20,10,4,3,1,1,1,0\n'
            'cpu,"A CPU, fast",normalise,other,u8,20,10,4,3,1,0.1,0.1,0\n'
            'cuda,GPU,correlate,direct,f32,20,10,4,4,1,1,1,0\n')
        self.assertEqual(status, 0)
        self.assertEqual(rows, ['{Backend::cpu, ElementType::u8, 12, 136, "fft"},',
                                '{Backend::cuda, ElementType::f32, 16, 119, "direct"},'])

    def test_several_measurements_by_their_geometric_mean(self):
        line = 'cpu,CPU,correlate,{},u8,20,10,4,3,{},{},1,0\n'
        status, rows = self.table(
            COLUMNS + line.format('direct', 1, 1) + line.format('fft', 1, 2) + line.format('once', 1, 0.5),
            COLUMNS + line.format('direct', 32, 100) + line.format('fft', 32, 10))
        self.assertEqual(status, 0)
        self.assertEqual(rows, ['{Backend::cpu, ElementType::u8, 12, 136, "fft"},'])

    def test_nothing_to_choose_from(self):
        status, rows = self.table(COLUMNS)
        self.assertNotEqual(status, 0)
        self.assertEqual(rows, [])


if __name__ == '__main__':
    SelectTable.script = sys.argv.pop()
    unittest.main()
