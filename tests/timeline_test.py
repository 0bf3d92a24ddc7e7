#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What bench/timeline.py makes of kernels that a program is said to have run: timeline_test.py BENCH_FOLDER"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCH = pathlib.Path(sys.argv[1])

# Three frames of two kernels that overlap, the first of which waits for a warm-up; then many at once.
PROGRAM = """#!/bin/sh
echo "what it prints"
[ -n "$CUDA_INJECTION64_PATH" ] || exit 1
cat >&2 <<'END'
a warning
begin_ns,end_ns,stream,kernel
1000,2000,7,_ZN5xcorr7prepareEv
20000,30000,7,_ZN5xcorr4cuda12_GLOBAL__N_14sumsILi4EEEvPf
25000,45000,7,_ZN5xcorr4cuda5matchEv
70000,81000,7,_ZN5xcorr4cuda12_GLOBAL__N_14sumsILi4EEEvPf
76000,95000,7,_ZN5xcorr4cuda5matchEv
120000,132000,7,_ZN5xcorr4cuda12_GLOBAL__N_14sumsILi4EEEvPf
124000,146000,7,_ZN5xcorr4cuda5matchEv
300000,310000,7,_ZN5xcorr4cuda12_GLOBAL__N_14sumsILi4EEEvPf
305000,325000,7,_ZN5xcorr4cuda5matchEv
325000,335000,7,_ZN5xcorr4cuda12_GLOBAL__N_14sumsILi4EEEvPf
END
"""


class Timeline(unittest.TestCase):
    def test_frames_by_themselves(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / 'program'
            program.write_text(PROGRAM)
            program.chmod(0o755)
            done = subprocess.run([sys.executable, BENCH / 'timeline.py', 'library.so', program], check=True,
                                  capture_output=True, text=True)
        self.assertEqual(done.stdout.splitlines(), [
            'what it prints', 'frames,kernel,begin_us,end_us', '3,sums,0.0,11.0', '3,match,5.0,25.0'])

    def test_no_program(self):
        done = subprocess.run([sys.executable, BENCH / 'timeline.py', 'library.so'], check=False, capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn('bench/timeline.py', done.stderr)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
