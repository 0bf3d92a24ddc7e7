#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What xcorrjson writes of fields: .npz files have what the lines of JSON have, and stay readable on a full disk."""
import ast
import json
import pathlib
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile

SOURCE = ['videotestsrc', 'pattern=zone-plate', 'kx2=20', 'ky2=16', 'kt=2', 'num-buffers=5', '!',
          'video/x-raw,format=GRAY8,width=160,height=120', '!', 'cudaxcorrfield', 'backend=cpu', 'search-range=4']


def launch(*words, settings=(), check=True, **more):
    return subprocess.run(['gst-launch-1.0', '-q', *SOURCE, *settings, '!', *map(str, words), '!', 'fakesink'],
                          check=check, **more)


def numbers_in(code, data):
    """Of a type of NumPy's, such as <f4, in the byte order of this machine."""
    count, letter = int(code[2:]), {'f4': 'f', 'f8': 'd', 'i4': 'i', 'u8': 'Q'}.get(code[1:])
    return data.rstrip(b'\0').decode() if code[1] == 'S' else struct.unpack(f'={len(data) // count}{letter}', data)


def record_in(npy):
    """A .npy file of one record, by the rules of its format."""
    assert npy[:8] == b'\x93NUMPY\x01\x00', npy[:8]
    length = int.from_bytes(npy[8:10], 'little')
    assert (10 + length) % 64 == 0, length
    header, data = ast.literal_eval(npy[10:10 + length].decode()), npy[10 + length:]
    assert header['shape'] == () and header['fortran_order'] is False, header
    record, at = {}, 0
    for name, code, *shape in header['descr']:
        count = shape[0][0] * shape[0][1] if shape else 1
        size = count * int(code[2:])
        values = numbers_in(code, data[at:at + size])
        record[name] = (shape[0], values) if shape else values if isinstance(values, str) else values[0]
        at += size
    assert at == len(data), (at, len(data))
    return record


def records_in(path):
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return [record_in(archive.read(name)) for name in archive.namelist()]


class Npz(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_records_are_the_lines(self):
        lines, npz = self.folder / 'field.jsonl', self.folder / 'field.npz'
        launch('xcorrjson', f'location={lines}', '!', 'xcorrjson', 'format=npz', f'location={npz}')
        lines = [json.loads(line) for line in lines.read_text().splitlines()]
        records = records_in(npz)
        self.assertEqual(len(records), 5)
        self.assertEqual([line['field']['state'] for line in lines], ['reference'] + 4 * ['measured'])
        for line, record in zip(lines, records):
            field = line.pop('field')
            del line['schema'], line['peaks']  # of lines
            self.assertEqual(set(record), {*line, *field})
            shape = field['rows'], field['columns']
            self.assertEqual(shape, (6, 9) if field['state'] == 'measured' else (0, 0))
            for name, value in {**line, **field}.items():
                if isinstance(value, list):
                    self.assertEqual(record[name][0], shape)
                    expected = struct.unpack(f'={len(value)}f', struct.pack(f'={len(value)}f', *value))
                    self.assertEqual(record[name][1], expected, name)
                elif value is not None:
                    self.assertEqual(record[name], value, name)
        self.assertGreater(max(records[1]['score'][1]), 0.5)

    def test_windows_at_places(self):
        lines, npz, places = self.folder / 'field.jsonl', self.folder / 'field.npz', self.folder / 'places.csv'
        places.write_text('90.5,40.5\n30.5,70.5\n')
        launch('xcorrjson', f'location={lines}', '!', 'xcorrjson', 'format=npz', f'location={npz}',
               settings=[f'places-file={places}'])
        field = json.loads(lines.read_text().splitlines()[2])['field']
        self.assertEqual((field['rows'], field['columns'], field['spacing']), (1, 2, 0))
        self.assertEqual((field['x'], field['y']), ([90.5, 30.5], [40.5, 70.5]))
        record = records_in(npz)[2]
        self.assertEqual((record['x'], record['y']), (((1, 2), (90.5, 30.5)), ((1, 2), (40.5, 70.5))))

    def test_names(self):
        npz = self.folder / 'field.npz'
        launch('xcorrjson', 'format=npz', f'location={npz}')
        with zipfile.ZipFile(npz) as archive:
            self.assertEqual(archive.namelist(), [f'{i:08}.npy' for i in range(5)])

    def test_numpy_reads_it(self):
        try:
            import numpy
        except ImportError:
            self.skipTest('there is no NumPy here')
        npz = self.folder / 'field.npz'
        launch('xcorrjson', 'format=npz', f'location={npz}')
        with numpy.load(npz) as frames:
            record = frames['00000002']
            self.assertEqual(record['dx'].shape, (6, 9))
            self.assertEqual(record['state'], b'measured')

    def test_full_disk(self):
        npz = self.folder / 'field.npz'
        launch('xcorrjson', 'format=npz', f'location={npz}')
        whole = npz.stat().st_size

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (whole * 3 // 4, whole * 3 // 4))
        done = launch('xcorrjson', 'format=npz', f'location={npz}', check=False, preexec_fn=limit,
                      stderr=subprocess.PIPE, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('Cannot write to', done.stderr)
        records = records_in(npz)
        self.assertTrue(1 < len(records) < 5, len(records))

    def test_no_pipe(self):
        done = launch('xcorrjson', 'format=npz', 'location=/dev/stdout', check=False, stdout=subprocess.PIPE,
                      stderr=subprocess.PIPE, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("Cannot write .npz to '/dev/stdout': it is no file on a disk", done.stderr)

    def test_frames_without_fields(self):
        npz = self.folder / 'empty.npz'
        subprocess.run(['gst-launch-1.0', '-q', 'videotestsrc', 'num-buffers=2', '!', 'xcorrjson', 'format=npz',
                        f'location={npz}', '!', 'fakesink'], check=True)
        self.assertEqual(records_in(npz), [])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
