#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""pipeline_bench runs in all modes and tells faults: pipeline_bench_test.py PROGRAM SCRIPT SUPPRESSIONS

On the CPU with small frames; the figures themselves mean nothing here.
"""
import csv
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, SCRIPT, SUPPRESSIONS = map(pathlib.Path, sys.argv[1:])
SMALL = ['--backend=cpu', '--width=160', '--height=120', '--side=16', '--streams=2',
         '--properties=max-lateness=-1']  # a busy machine is no fault
ENCODER = 'x264enc speed-preset=ultrafast ! mp4mux'
LEAKS = 9  # the exit status for them
VALGRIND = ['valgrind', '--quiet', f'--error-exitcode={LEAKS}', '--leak-check=full', '--show-leak-kinds=definite',
            '--errors-for-leak-kinds=definite', f'--suppressions={SUPPRESSIONS}']


def bench(*arguments, program=PROGRAM):
    """(exit status, the rows, what was said of errors and in comments)"""
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    rows = list(csv.DictReader(line for line in lines if not line.startswith('#')))
    return done.returncode, rows, done.stderr + ''.join(line for line in lines if line.startswith('#'))


class PipelineBench(unittest.TestCase):
    def right_rows(self, *arguments, program=PROGRAM):
        """The rows of a run in which nothing is wrong."""
        status, rows, self.said = bench(*arguments, *SMALL, program=program)
        print(*arguments, *(f"{row['mode']}: {row['frames']} frames, {row['frames_per_s']}/s" for row in rows),
              sep='; ')
        self.assertEqual(status, 0, self.said)
        for row in rows:
            self.assertEqual((row['unanalysed'], row['wrong']), ('0', '0'), row)
            self.assertGreater(float(row['frames_per_s']), 0)
        return rows

    def test_throughput(self):
        row, = self.right_rows('throughput', '--frames=150')
        self.assertEqual((row['frames'], row['backend'], row['async_depth'], row['track']), ('150', 'cpu', '4', '0'))

    def test_tracks(self):
        row, = self.right_rows('throughput', '--track', '--frames=150')
        self.assertEqual(row['track'], '1')

    def test_ordinary_memory(self):
        row, = self.right_rows('throughput', '--ordinary-memory', '--frames=150')
        self.assertEqual(row['memory'], 'ordinary')

    def test_latency(self):
        unpaced, live = self.right_rows('latency', '--frames=60', '--rate=100')
        self.assertEqual((unpaced['rate'], live['rate']), ('0', '100'))
        for row in unpaced, live:
            added, traced = (float(row[f'{by}_p50_ms']) for by in ('added', 'tracer'))
            self.assertGreater(added, 0)
            if 'no latency tracer' in self.said:
                self.assertEqual(traced, 0)
            else:
                self.assertLess(abs(added - traced), 0.5 * added, 'the two ways to measure disagree')
            self.assertGreaterEqual(float(row['added_p99_ms']), added)

    def test_streams(self):
        rows = self.right_rows('streams', '--frames=40', '--rate=50')
        self.assertEqual([(row['streams'], row['rate'], row['frames']) for row in rows],
                         [('2', '50', '80'), ('1', '0', '40'), ('2', '0', '80')])

    def test_live(self):
        row, = self.right_rows('live', '--frames=30')
        self.assertEqual((row['rate'], row['track']), ('30', '1'))

    def test_endurance(self):
        status, (row,), said = bench('endurance', '--frames=350', *SMALL)
        self.assertEqual((status, row['wrong']), (0, '0'), said)
        self.assertIn('3 changes of templates', said)

    @unittest.skipUnless(shutil.which('valgrind'), 'valgrind is not here')
    def test_no_leaks(self):
        os.environ['G_SLICE'] = 'always-malloc'
        arguments = ['endurance', '--frames=250', *SMALL]
        for more in [], ['--track', '--search-margin=8']:
            status, (row,), said = bench(*VALGRIND[1:], PROGRAM, *arguments, *more, program=VALGRIND[0])
            # Its memory grows by what valgrind notes, which may be told as a failure.
            self.assertIn(status, (0, 1), said)
            self.assertEqual((row['frames'], row['unanalysed'], row['wrong']), ('250', '0', '0'), said)
            self.assertIn('2 changes of templates', said)

    def test_decode(self):
        with tempfile.TemporaryDirectory() as folder:
            clip = pathlib.Path(folder, 'clip.mp4')
            made = subprocess.run(
                ['gst-launch-1.0', '-q', *'videotestsrc num-buffers=50 ! video/x-raw,format=I420,width=160,height=120 !'
                 .split(), *ENCODER.split(), '!', 'filesink', f'location={clip}'], capture_output=True)
            if made.returncode:
                self.skipTest(f'{ENCODER} makes no clip')
            row, = self.right_rows('decode', f'--file={clip}', '--decoder=decodebin')
            self.assertEqual(row['frames'], '50')
            self.assertGreater(float(row['bare_per_s']), 0)

    def test_all_modes_make_one_table(self):
        modes = [row['mode'] for row in self.right_rows(PROGRAM, '--frames=40', '--rate=50', program=SCRIPT)]
        self.assertEqual(modes, 3 * ['throughput'] + 2 * ['latency'] + 3 * ['streams'] + ['live', 'endurance'])

    def test_faults_are_told(self):
        for name, properties in [('unanalysed', 'interval=2'), ('wrong', 'search-region=<0,0,20,20>')]:
            status, (row,), _ = bench('throughput', '--frames=40', *SMALL, f'--properties={properties}')
            self.assertEqual(status, 1, row)
            self.assertGreater(int(row[name]), 0)

    def test_errors_are_told(self):
        for word, *arguments in [('which mode', ), ('which mode', 'none'), ('--file', 'decode'),
                                 ('none-such', 'throughput', '--properties=none-such=1'),
                                 ('no-such-file', 'decode', '--file=no-such-file', '--decoder=decodebin')]:
            status, _, said = bench(*SMALL, *arguments)
            self.assertEqual(status, 1)
            self.assertIn(word, said)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
