#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""bench/select_table.py tells how much slower variants are: select_table_test.py SELECT_TABLE [INC]

With INC: it is what the script makes of the committed results.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

OLD = 'backend,device,stage,variant,type,left_w,left_h,right_w,right_h,rights,median_ms,min_ms,mac_per_s\n'
COLUMNS = ('backend,device,stage,variant,case,type,form,left_w,left_h,right_w,right_h,lefts,rights,shifts,'
           'step,median_ms\n')
PAPER = '# a paper\nform,lefts,rights,side,variant\none_to_one,1,1,16,direct\n'


class SelectTable(unittest.TestCase):
    script = inc = ''

    def table(self, *texts):
        """(status, {section: rows}) of what the script makes of these files."""
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for index, text in enumerate((*texts, PAPER)):
                paths.append(f'{folder}/{index}.csv')
                pathlib.Path(paths[-1]).write_text(text, encoding='utf-8')
            done = subprocess.run([sys.executable, self.script, *paths[:-1], f'--paper={paths[-1]}',
                                   '--output=-'], text=True, capture_output=True, check=False)
        sections = {name: [line.strip().rstrip(',') for line in body.splitlines()]
                    for name, body in re.findall(r' (\w+)\[\] = \{\n(.*?)\};', done.stdout, re.DOTALL)}
        return done.returncode, sections

    def test_slowdowns_of_each_problem(self):
        line = 'cuda,GPU,{},{},{},f32,n_to_m,8,8,8,8,2,3,full,{},{}\n'
        status, found = self.table(
            '# a machine, a commit\n' + COLUMNS
            + line.format('correlate', 'reference', 'a', 'kernel', 0.1)
            + line.format('correlate', 'fast', 'a', 'kernel', 1)
            + line.format('correlate', 'slower', 'a', 'kernel', 2)
            + line.format('correlate', 'fast', 'a', 'run', 0.5)
            + line.format('correlate', 'slower', 'held-a', 'kernel', 0.01)
            + line.format('normalise', 'other', 'a', 'kernel', 0.1))
        self.assertEqual(status, 0)
        self.assertEqual(found['variants'], ['"fast"'])  # `slower` never comes near the best
        self.assertEqual(found['measured'], [
            '{false, Backend::cuda, ElementType::f32, Form::n_to_m, 64, 225, 2, 3, 0.2844, 0, 1}'])
        self.assertEqual(found['slowdowns'], ['{0, 0}'])
        self.assertEqual(found['guidelines'], ['{Form::one_to_one, 1, 1, 16, "direct"}'])

    def test_matches_are_problems_of_their_own(self):
        line = 'cuda,GPU,{},{},a,f32,one_to_one,8,8,4,4,1,1,valid,{},{}\n'
        status, found = self.table(COLUMNS + line.format('correlate', 'fast', 'kernel', 1)
                                   + line.format('correlate', 'fast', 'match', 4)
                                   + line.format('search', 'fused', 'match', 3))
        self.assertEqual(status, 0)
        self.assertEqual(found['variants'], ['"fast"', '"fused"'])
        self.assertEqual(found['measured'], [
            '{false, Backend::cuda, ElementType::f32, Form::one_to_one, 16, 25, 1, 1, 1.0, 0, 1}',
            '{true, Backend::cuda, ElementType::f32, Form::one_to_one, 16, 25, 1, 1, 1.0, 1, 1}'])
        self.assertEqual(found['slowdowns'], ['{0, 0}', '{1, 0}'])

    def test_best_by_the_definition_is_listed_too(self):
        line = 'cuda,GPU,correlate,{},a,f32,n_to_m,8,8,8,8,2,3,full,kernel,{}\n'
        status, found = self.table(COLUMNS + line.format('fft', 1) + line.format('direct', 4)
                                   + line.format('slower', 8))
        self.assertEqual(status, 0)
        self.assertEqual(found['variants'], ['"direct"', '"fft"'])
        self.assertEqual(found['slowdowns'], ['{0, 200}, {1, 0}'])

    def test_best_of_earlier_gpus_is_listed_too(self):
        line = 'cuda,GPU,search,{},a,u8,one_to_one,8,8,4,4,1,1,valid,match,{}\n'
        status, found = self.table(COLUMNS + line.format('m_wgmma.x', 1) + line.format('m.x', 2)
                                   + line.format('fft', 1.5) + line.format('slower', 3))
        self.assertEqual(status, 0)
        self.assertEqual(found['variants'], ['"fft"', '"m.x"', '"m_wgmma.x"'])

    def test_widths_of_a_tiling_share_a_line(self):
        line = 'cuda,GPU,search,tensor_match_wgmma.{},a,u8,one_to_one,8,8,4,4,1,1,valid,match,{}\n'
        status, found = self.table(COLUMNS + line.format('k2t4', 3) + line.format('k3t4', 2)
                                   + line.format('k3t4g2', 4))
        self.assertEqual(status, 0)
        self.assertEqual(found['variants'], ['"tensor_match_wgmma.k*t4"'])
        self.assertEqual(found['slowdowns'], ['{0, 0}'])

    def test_results_of_before_form_was_measured(self):
        line = 'cpu,"A CPU, fast",correlate,{},u8,20,10,4,3,{},{},1,0\n'
        status, found = self.table(
            OLD + line.format('direct', 1, 2) + line.format('fft', 1, 1),
            OLD + line.format('direct', 32, 1) + line.format('fft', 32, 1.5))
        self.assertEqual(status, 0)
        self.assertEqual(found['variants'], ['"direct"', '"fft"'])
        self.assertEqual(found['measured'], [
            '{false, Backend::cpu, ElementType::u8, Form::one_to_many, 12, 136, 1, 32, 1.0, 0, 2}',
            '{false, Backend::cpu, ElementType::u8, Form::one_to_one, 12, 136, 1, 1, 1.0, 2, 2}'])
        self.assertEqual(found['slowdowns'], ['{0, 0}, {1, 58}', '{0, 100}, {1, 0}'])

    def test_last_of_several_devices(self):
        line = 'cpu,{},correlate,{},u8,20,10,4,3,1,{},1,0\n'
        status, found = self.table(
            OLD + line.format('A', 'direct', 1) + line.format('A', 'wise', 2) + line.format('A', 'once', 0.5),
            OLD + line.format('B', 'direct', 16) + line.format('B', 'wise', 2))
        self.assertEqual(status, 0)
        self.assertEqual(found['variants'], ['"wise"'])
        self.assertEqual(found['slowdowns'], ['{0, 0}'])

    def test_last_result_of_a_device(self):
        line = 'cpu,CPU,correlate,{},u8,20,10,4,3,1,{},1,0\n'
        status, found = self.table(OLD + line.format('direct', 1) + line.format('fft', 9),
                                   OLD + line.format('fft', 2) + line.format('new', 4))
        self.assertEqual(status, 0)
        self.assertEqual(found['variants'], ['"direct"'])
        status, found = self.table(OLD + line.format('direct', 4) + line.format('fft', 1),
                                   OLD + line.format('fft', 2) + line.format('new', 1))
        self.assertEqual(found['variants'], ['"new"'])

    def test_nothing_to_choose_from(self):
        status, found = self.table(COLUMNS)
        self.assertNotEqual(status, 0)
        self.assertEqual(found, {})

    def test_the_table_in_the_sources_is_of_the_results(self):
        if not self.inc:
            self.skipTest('no table given')
        done = subprocess.run([sys.executable, self.script, '--output=-'], text=True,
                              capture_output=True, check=True)
        self.assertEqual(done.stdout, pathlib.Path(self.inc).read_text(encoding='utf-8'))


if __name__ == '__main__':
    SelectTable.script, *rest = sys.argv[1:]
    SelectTable.inc = rest[0] if rest else ''
    unittest.main(argv=sys.argv[:1])
