#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Kernels keep their arrays in registers: registers_test.py scripts/registers.py [registers.csv]

What is wrong is found in made-up reports, and nothing is in those of the build. Without a table (a
build without nvcc) the latter is skipped.
"""
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

REPORT = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_ZN5xcorr4cuda12_GLOBAL__N_14sumsILi4EEEvPf' for 'sm_90'
ptxas info    : Function properties for _ZN5xcorr4cuda12_GLOBAL__N_14sumsILi4EEEvPf
    {} bytes stack frame, {} bytes spill stores, {} bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, {} bytes smem, 400 bytes cmem[0]
ptxas info    : Compile time = 1.0 ms
"""


class Registers(unittest.TestCase):
    script = table = ""

    def check(self, *reports):
        """(exit status, what was printed, the table) of made-up reports."""
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for index, text in enumerate(reports):
                paths.append(pathlib.Path(folder, f"family{index}.usage"))
                paths[-1].write_text(text, encoding="utf-8")
            table = pathlib.Path(folder, "registers.csv")
            subprocess.run([self.script, f"--output={table}", *paths], check=True)
            done = subprocess.run([self.script, "--check", table], text=True, capture_output=True,
                                  check=False)
            return done.returncode, done.stdout, table.read_text(encoding="utf-8")

    def test_usage_of_a_kernel(self):
        status, said, table = self.check(REPORT.format(0, 0, 0, 576))
        self.assertEqual(status, 0)
        self.assertIn("1 kernels, at most 40 registers, 0 with", said)
        self.assertRegex(table, r"family0,\S*sums\S*,90,40,576,0,0\n")

    def test_stack_frame_fails(self):
        status, said, _ = self.check(REPORT.format(0, 0, 0, 0), REPORT.format(16, 0, 0, 0))
        self.assertEqual(status, 1)
        self.assertIn("FAIL family1", said)
        self.assertNotIn("FAIL family0", said)

    def test_spills_fail(self):
        for stores, loads in ((4, 0), (0, 8)):
            self.assertEqual(self.check(REPORT.format(0, stores, loads, 0))[0], 1)

    def test_frame_of_a_function_counts(self):
        called = ("ptxas info    : Function properties for _Z6calledv\n"
                  "    40 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n")
        self.assertEqual(self.check(REPORT.format(0, 0, 0, 0) + called)[0], 1)

    def test_no_kernels_fail(self):
        self.assertEqual(self.check("")[0], 1)

    def test_allowed_are_few_and_justified(self):
        spec = importlib.util.spec_from_file_location("registers", self.script)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self.assertLessEqual(len(module.ALLOWED), 3)
        for reason in module.ALLOWED.values():
            self.assertGreater(len(reason), 20)

    def test_every_kernel_of_the_build(self):
        if not self.table:
            self.skipTest("built without nvcc")
        done = subprocess.run([self.script, "--check", self.table], text=True, capture_output=True,
                              check=False)
        print(done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    Registers.script, *rest = sys.argv[1:]
    Registers.table = rest[0] if rest else ""
    unittest.main(argv=sys.argv[:1])
