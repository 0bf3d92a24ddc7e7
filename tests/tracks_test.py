#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""bench/tracks.py and clicks.py count right, read what they say and name what they cannot use: tracks_test.py
BENCH_FOLDER MADE

On synthetic sequences, which MADE writes. Without NumPy or GStreamer's Python bindings everything is skipped, without
OpenCV or Matplotlib what needs them.
"""
import csv
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

FOLDER, MADE = map(pathlib.Path, sys.argv[1:])
NAN = float('nan')
ABSENT = [NAN] * 4


def image_files(folder, numbers, encoder, kind):
    """Images with these numbers in their names, 32 x 16, each as bright as its number says."""
    for number in numbers:
        subprocess.run(['gst-launch-1.0', '-q', 'videotestsrc', 'num-buffers=1', 'pattern=solid-color',
                        f'foreground-color={0xff000000 + number * 0x010101}', '!', 'video/x-raw,width=32,height=16',
                        '!', 'videoconvert', '!', encoder, '!', 'filesink', f'location={folder}/{number}.{kind}'],
                       check=True)


class Measures(unittest.TestCase):
    def test_overlaps(self):
        boxes = np.array([[0, 0, 10, 10], [5, 0, 10, 10], [20, 0, 10, 10], ABSENT, [2, 2, 5, 5]])
        truth = np.array([[0, 0, 10, 10]] * 5)
        np.testing.assert_allclose(measures.overlaps(boxes, truth), [1, 1 / 3, 0, 0, 1 / 4])

    def test_what_is_counted(self):
        truth = np.array([[0, 0, 10, 10]] * 4 + [ABSENT] * 2)
        boxes = np.array([[0, 0, 10, 10], [0, 5, 10, 10], [15, 15, 10, 10], ABSENT, ABSENT, [1, 1, 10, 10]])
        found = measures.measure(boxes, truth, [2, 4])
        self.assertEqual((found.frames, found.absent, found.claimed), (4, 2, 1))
        self.assertAlmostEqual(found.iou, (1 + 1 / 3) / 4)
        self.assertEqual((found.lost, found.wrong, found.precision, found.ms), (1 / 4, 1 / 4, 2 / 4, 3))
        self.assertEqual((found.success[0], found.success[6], found.success[7], found.success[20]), (.5, .5, .25, 0))
        self.assertAlmostEqual(found.auc, (7 * .5 + 13 * .25) / 21)

    def test_what_is_wrong_and_sure(self):
        truth = np.array([[0, 0, 10, 10]] * 4)
        boxes = np.array([[0, 0, 10, 10, 1], [40, 0, 10, 10, .95], [40, 0, 10, 10, .8], [*ABSENT, NAN]])
        found = measures.measure(boxes, truth, [2])
        self.assertEqual((found.wrong, found.sure), (2 / 4, 1 / 4))
        self.assertTrue(np.isnan(measures.measure(boxes[:, :4], truth, [2]).sure))

    def test_stretches_that_are_lost_or_wrong(self):
        truth = np.array([[0, 0, 10, 10]] * 12)
        boxes = np.array([[0, 0, 10, 10, .5]] * 12)
        boxes[0, 0] = 50  # where it is shown
        boxes[2:4], boxes[4, 0] = NAN, 40
        boxes[6], boxes[9:] = NAN, NAN
        found = list(measures.stretches(boxes, truth, 2))
        self.assertEqual(found, [measures.Stretch(2, 4, 2, 1, True), measures.Stretch(9, 11, 3, 0, False)])
        self.assertEqual([one.frames for one in found], [3, 3])
        truth = truth.astype(float)
        truth[[7, 8, 11]] = ABSENT  # no frame between the two last ones is in view
        self.assertEqual(list(measures.stretches(boxes, truth, 3)), [
            measures.Stretch(2, 4, 2, 1, True), measures.Stretch(6, 10, 3, 0, False)])
        self.assertEqual(list(measures.stretches(boxes[:1], truth[:1], 1)), [])

    def test_mean_of_sequences(self):
        box = np.array([[0, 0, 10, 10]])
        long = measures.measure(np.repeat(box, 30, 0), np.repeat(box, 30, 0), [1])
        short = measures.measure(box + [[50, 0, 0, 0]], box, [3])
        both = measures.mean([long, short])
        self.assertEqual((both.frames, both.iou, both.wrong, both.ms), (31, .5, .5, 2))


class Sequences(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def truth(self, text, form=None):
        path = self.folder / 'gt.txt'
        path.write_text(text, encoding='utf-8')
        return sequences.read_truth(path, (320, 240), form)

    def test_forms(self):
        boxes = [[10, 20, 30, 40], ABSENT, [200, 100, 50.5, 60]]
        for text in ('10,20,30,40\nNaN,NaN,NaN,NaN\n200,100,50.5,60\n',
                     '10\t20\t30\t40\n0\t0\t0\t0\n200\t100\t50.5\t60',
                     '10 20 40 60\nNaN NaN NaN NaN\n200 100 250.5 160\n',
                     '1,10,20,30,40,0\n2,5,5,5,5,1\n3,200,100,50.5,60,0\n',
                     '10,20,40,20,40,60,10,60\n' + ','.join(8 * ['NaN']) + '\n225,100,250.5,130,220,160,200,120\n'):
            np.testing.assert_array_equal(self.truth(text), boxes)

    def test_what_cannot_be_told(self):
        text = '10,20,30,40\n'
        with self.assertRaisesRegex(sequences.Unusable, '--truth=xywh'):
            self.truth(text)
        np.testing.assert_array_equal(self.truth(text, 'xywh'), [[10, 20, 30, 40]])
        np.testing.assert_array_equal(self.truth(text, 'corners'), [[10, 20, 20, 20]])

    def test_bad_rows(self):
        for text, said in ('1,2,3,4\nsome text\n', ':2: "some text"'), ('1,2,3\n', ':1: 3 numbers'), \
                ('1,2,3,4\n1,2,3,4,5,6\n', ':2: 6 numbers'), ('', 'is empty'):
            with self.subTest(text), self.assertRaisesRegex(sequences.Unusable, said):
                self.truth(text)

    def test_images_in_the_order_of_their_numbers(self):
        for encoder, kind in ('pngenc', 'png'), ('jpegenc', 'jpg'):
            with self.subTest(kind), tempfile.TemporaryDirectory() as folder:
                image_files(folder, [9, 10, 100], encoder, kind)
                pathlib.Path(folder, 'groundtruth.txt').write_text(3 * '9 1 8 8\n', encoding='utf-8')
                frames = sequences.read(folder).frames
                self.assertEqual([frame.shape for frame in frames], 3 * [(16, 32, 3)])
                self.assertEqual(np.argsort([frame.mean() for frame in frames]).tolist(), [0, 1, 2])
                if kind == 'png':
                    self.assertEqual([set(frame.flat) for frame in frames], [{9}, {10}, {100}])

    def test_videos(self):
        subprocess.run(['gst-launch-1.0', '-q', 'videotestsrc', 'num-buffers=3', '!', 'video/x-raw,width=30,height=16',
                        '!', 'jpegenc', '!', 'avimux', '!', 'filesink', f'location={self.folder}/clip.avi'], check=True)
        self.truth(3 * '9 1 8 8\n')
        self.assertEqual([frame.shape for frame in sequences.read(self.folder).frames], 3 * [(16, 30, 3)])

    def test_folders_that_are_no_sequence(self):
        with self.assertRaisesRegex(sequences.Unusable, '0 files of ground truth'):
            sequences.read(self.folder)
        self.truth('9 1 8 8\n')
        with self.assertRaisesRegex(sequences.Unusable, '0 videos and 0 images'):
            sequences.read(self.folder)
        image_files(self.folder, [1, 2], 'pngenc', 'png')
        with self.assertRaisesRegex(sequences.Unusable, '1 boxes for 2 frames'):
            sequences.read(self.folder)
        (self.folder / '2.png').write_bytes(b'no image')
        with self.assertRaises(sequences.Unusable):
            sequences.read(self.folder)

    def test_starts(self):
        truth = np.array([[5, 5, 20, 20]] * 101, dtype=float)
        frames = [np.zeros((100, 100, 3), np.uint8)] * 101
        self.assertEqual(sequences.Sequence('', frames, truth).starts(5), [0, 15, 30, 45, 60])
        truth[10:40] = ABSENT
        truth[45] = [90, 5, 20, 20]
        self.assertEqual(sequences.Sequence('', frames, truth).starts(5), [0, 40, 46, 60])
        truth[:] = ABSENT
        with self.assertRaises(sequences.Unusable):
            sequences.Sequence('', frames, truth).starts(5)

    def test_loose_boxes(self):
        truth = np.array([[5, 10, 20, 20], [40, 40, 10, 20]], dtype=float)
        frames = [np.zeros((60, 50, 3), np.uint8)] * 2
        loose = sequences.Sequence('', frames, truth).drawn_loosely(0, 1.5)
        np.testing.assert_array_equal(loose.truth, [[0, 5, 30, 30], truth[1]])
        loose = sequences.Sequence('', frames, truth).drawn_loosely(1, 1.5)  # as far as the frame reaches
        np.testing.assert_array_equal(loose.truth, [truth[0], [37.5, 35, 12.5, 25]])
        moved = np.array([[37.5, 35, 12.5, 25, 1], [10, 20, 25, 50, .5]])
        np.testing.assert_allclose(tracks.tightened(moved, loose.truth[1], truth[1]),
                                   [[40, 40, 10, 20, 1], [15, 30, 20, 40, .5]])


class Element(unittest.TestCase):
    def test_the_track_nearest_to_the_target_is_followed(self):
        def peak(number, x, score, lost=False):
            return {'id': number, 'x': x, 'y': 0, 'width': 8, 'height': 8, 'score': score, 'confidence': score / 2,
                    'lost': lost}

        frames = [[], [peak(1, 50, 1), peak(2, 10, .9)], [peak(1, 50, 1), peak(2, 11, 0, True)],
                  [peak(1, 50, 1), peak(2, 12, .8)], [peak(1, 50, .6), peak(3, 30, .7)], [peak(3, 31, .7)]]
        np.testing.assert_array_equal(element.places(frames, (10, 0))[:, 0], [NAN, 10, NAN, 12, 30, 31])
        np.testing.assert_array_equal(element.places(frames, (10, 0))[1], [10, 0, 8, 8, .45])


class Program(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.made = pathlib.Path(folder.name)
        subprocess.run([MADE, cls.made], check=True)

    def run_it(self, *arguments):
        done = subprocess.run([sys.executable, FOLDER / 'tracks.py', *arguments], capture_output=True, text=True,
                              check=False)
        self.assertNotIn('Traceback', done.stderr)
        return done

    def rows(self, *arguments):
        path = self.made / 'rows.csv'
        done = self.run_it('--truth=xywh', f'--csv={path}', *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = path.read_text(encoding='utf-8').splitlines()
        self.assertRegex(lines[0], '^# .*commit .*, 2 starts, GStreamer ')
        rows = {(row['tracker'], row['sequence']): row for row in csv.DictReader(lines[1:])}
        for tracker, sequence in rows:
            self.assertIn(f'{tracker:28} {sequence:22}', done.stdout)
        return rows

    def test_drawn_sequences(self):
        rows = self.rows('--starts=2', '--element=', '--element=tracker=template threshold=0.99',
                         self.made / 'moves-pieces', self.made / 'blurs-pieces')
        for kind in 'moves-pieces', 'blurs-pieces':
            row = rows['cudaxcorr', kind]
            self.assertEqual((row['frames'], row['absent'], row['wrong']), (str(89 + 35), '0', '0.0000'))
            self.assertGreater(float(row['iou']), 0.9)
            self.assertGreater(float(row['ms']), 0)
        strict = rows['cudaxcorr tracker=template threshold=0.99', 'blurs-pieces']
        self.assertGreater(float(strict['lost']), 0.5)
        self.assertAlmostEqual(float(rows['cudaxcorr', 'mean']['iou']), sum(
            float(rows['cudaxcorr', kind]['iou']) for kind in ('moves-pieces', 'blurs-pieces')) / 2, places=3)

    def test_short_runs_from_loose_boxes(self):
        row = self.rows('--starts=2', '--frames=20', '--loose=1.3', self.made / 'moves-pieces')['cudaxcorr', 'mean']
        self.assertEqual((row['frames'], row['wrong']), ('40', '0.0000'))
        self.assertGreater(float(row['iou']), 0.8)

    def test_beside_opencv(self):
        if not importlib.util.find_spec('cv2'):
            self.skipTest('no OpenCV')
        rows = self.rows('--starts=2', '--opencv=all', self.made / 'moves-pieces')
        for tracker, sequence in rows:
            self.assertGreater(float(rows[tracker, sequence]['iou']), 0.5 if tracker in ('cudaxcorr', 'KCF') else 0)
        self.assertGreater(len(rows), 2)

    def test_contact_sheet(self):
        if not importlib.util.find_spec('PIL'):
            self.skipTest('no Pillow')
        picture = self.made / 'sheet.png'
        sequence = self.made / 'leaves-pieces'

        def run(*arguments):
            done = subprocess.run([sys.executable, FOLDER / 'contact_sheet.py', '--truth=xywh', f'--output={picture}',
                                   *arguments], capture_output=True, text=True, check=False)
            self.assertNotIn('Traceback', done.stderr)
            return done

        done = run('--columns=4', '--side=50', sequence, self.made / 'moves-pieces')
        self.assertEqual((done.returncode, done.stdout), (0, ''), done.stderr)
        size = int.from_bytes(picture.read_bytes()[16:20], 'big'), int.from_bytes(picture.read_bytes()[20:24], 'big')
        self.assertEqual(size[0], 4 * 56 + 6)
        self.assertGreater(size[1], 2 * 50)
        done = run('--bad=5', '--element=min-confidence=1', self.made / 'moves-pieces')
        self.assertEqual(done.returncode, 0, done.stderr)
        names, row = done.stdout.splitlines()
        self.assertEqual(names, 'sequence,start,first,frames,lost,wrong,ends')
        self.assertRegex(row, r'^moves-pieces,0,\d+,\d+,\d+,0,run$')
        for said, *arguments in (('no frame 500', '--shown=0,500', sequence), ('0 files of ground truth', FOLDER),
                                 ('nothing to show', '--bad=500', sequence)):
            done = run(*arguments)
            self.assertEqual(done.returncode, 1)
            self.assertIn(said, done.stderr)

    def test_means_by_what_is_hard(self):
        path = self.made / 'results.csv'
        path.write_text('# of two\ntracker,sequence,auc,precision,lost,wrong\na,otb_car1,0.5,1,0.2,0.1\n'
                        'a,none_such,1,1,0,0\na,otb_deer,0.3,0,0.4,0.3\n', encoding='utf-8')
        done = self.run_it(f'--results={path}')
        self.assertEqual(done.returncode, 0, done.stderr)
        known = attributes.read()
        self.assertEqual([known[name]['small'] for name in ('otb_car1', 'otb_deer')], [True, False])
        self.assertRegex(done.stdout, r'(?m)^a +1 small +0\.500 1\.000  20\.0   10\.0$')
        both = [name for name in attributes.NAMES if all(known[one].get(name) for one in ('otb_car1', 'otb_deer'))]
        self.assertTrue(both)
        for name in both:
            self.assertRegex(done.stdout, rf'(?m)^a +2 {name} +0\.400 0\.500  30\.0   20\.0$')

    def test_errors_are_told(self):
        for said, *arguments in [('no property "none-such"', '--element=none-such=1', self.made / 'moves-pieces'),
                                 ('0 files of ground truth', FOLDER), ('say which sequences', ),
                                 ('which sequences', '--made=x', FOLDER),
                                 ('which sequences', '--results=x', FOLDER),
                                 ('no results of tracks.py', f'--results={FOLDER / "tracking/attributes.csv"}'),
                                 ('--peer: ', '--peer=eco_hc', self.made / 'moves-pieces'),
                                 ("'/none/such'", '--made=/none/such')]:
            done = self.run_it(*arguments)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(said, done.stderr)

    def test_figure(self):
        if not importlib.util.find_spec('matplotlib'):
            self.skipTest('no Matplotlib')
        self.rows('--starts=2', self.made / 'moves-pieces')
        figures = []
        for turn in range(2):
            path = self.made / f'{turn}.svg'
            subprocess.run([sys.executable, FOLDER / 'plot_tracks.py', self.made / 'rows.csv', f'--output={path}'],
                           check=True)
            figures.append(path.read_text(encoding='utf-8'))
        self.assertEqual(figures[0], figures[1])
        self.assertIn('>cudaxcorr: 0.9', figures[0])

    def test_a_tracker_has_one_colour_in_all_panels(self):
        if not importlib.util.find_spec('matplotlib'):
            self.skipTest('no Matplotlib')
        tables = []
        for aucs in ((.3, .2, .1), (.1, .2, .3)):
            tables.append(self.made / f'{aucs[0]}.csv')
            tables[-1].write_text('tracker,sequence,auc,success\n' + ''.join(
                f'{name},mean,{auc},{auc} 0\n' for name, auc in zip(('a', 'b', 'cudaxcorr'), aucs)), encoding='utf-8')
        plot = self.made / 'panels.svg'
        subprocess.run([sys.executable, FOLDER / 'plot_tracks.py', *tables, f'--output={plot}'], check=True)
        colours = re.findall(r'fill: (#\w+)"[^>]*>(\w+): 0', plot.read_text(encoding='utf-8'))
        self.assertEqual((len(colours), len(set(colours))), (6, 3))


class Clicks(unittest.TestCase):
    @staticmethod
    def target(*rows, count=100):
        return clicks.Target('one', [dict(zip(('frame', *clicks.BOX), map(str, row))) for row in rows], count)

    def test_labels(self):
        gone = 4 * ('',)
        target = self.target((5, 10, 20, 30, 40), (20, 12, 20, 30, 40), (30, *gone), (60, *gone), (90, 0, 20, 30, 40),
                             (97, *gone))
        self.assertEqual((target.start, target.leaves, target.last), (5, 20, 90))
        self.assertEqual(np.flatnonzero(target.known).tolist(), [5, 20, *range(30, 61), 90, 97, 98, 99])
        self.assertEqual(np.flatnonzero(~np.isnan(target.truth[:, 0])).tolist(), [5, 20, 90])
        for bad in [(5, *gone)], [(5, 1, 1, 8, 8), (5, 1, 1, 8, 8)], [(100, 1, 1, 8, 8)]:
            with self.subTest(bad), self.assertRaises(sequences.Unusable):
                self.target(*bad)

    def test_clicks_as_far_as_the_frame_reaches(self):
        for box, square in (([100, 100, 20, 60], [86, 106, 48, 48]), ([0, 0, 20, 20], [0, 0, 34, 34]),
                            ([300, 220, 20, 20], [286, 206, 34, 34])):
            np.testing.assert_array_equal(clicks.clicked(np.array(box), (320, 240)), square)

    def test_verdicts(self):
        target = self.target((1, 0, 0, 8, 8), (2, 0, 0, 8, 8), (3, 0, 0, 8, 8), (4, '', '', '', ''), count=6)
        here, lost, away = [0, 0, 8, 8, .7], [*ABSENT, NAN], [50, 0, 8, 8, .9]
        for found, said, after in (((here, here), 'held', ''), ((lost, here), 'found again', 1),
                                   ((here, lost), 'lost', 2), ((away, here), 'wrong', '')):
            row = clicks.evaluate(np.array([here, *found, lost, away]), 1, target, target.truth[1])
            self.assertEqual((row['verdict'], row['lost_after']), (said, after))
            self.assertEqual((row['labels'], row['absent'], row['claimed'], row['surest']), (2, 2, 1, '0.90'))

    def test_program(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([MADE, folder], check=True)
            folder = pathlib.Path(folder)
            clip, labels, table, places = (folder / name for name in ('clip.avi', 'labels', 'table', 'places'))
            subprocess.run(['gst-launch-1.0', '-q', 'multifilesrc', f'location={folder}/moves-pieces/%04d.pgm',
                            'caps=image/x-portable-graymap,framerate=25/1', '!', 'pnmdec', '!', 'videoconvert', '!',
                            'jpegenc', 'quality=95', '!', 'avimux', '!', 'filesink', f'location={clip}'], check=True)
            boxes = next((folder / 'moves-pieces').glob('g*t*.txt')).read_text(encoding='utf-8').splitlines()
            labels.write_text('clip,target,frame,x,y,width,height\n' + ''.join(
                f'clip.avi,true,{frame},{boxes[frame]}\nclip.avi,elsewhere,{frame},{elsewhere}\n'
                for frame, elsewhere in ((0, boxes[0]), (20, '0,0,9,9'), (40, '0,0,9,9'))), encoding='utf-8')
            program = [sys.executable, FOLDER / 'clicks.py', f'--labels={labels}']
            done = subprocess.run([*program, f'--csv={table}', f'--places={places}', clip], capture_output=True,
                                  text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, r'(?m)^cudaxcorr +clip.avi +drag +2 +1 +0 +0 +1 +0 +0$')
            lines = table.read_text(encoding='utf-8').splitlines()
            self.assertRegex(lines[0], '^# .*commit .*, GStreamer ')
            rows = {(row['target'], row['shown']): row for row in csv.DictReader(lines[1:])}
            self.assertEqual(len(rows), 4)
            self.assertEqual([rows[of, 'drag']['verdict'] for of in ('true', 'elsewhere')], ['held', 'wrong'])
            self.assertGreater(float(rows['true', 'drag']['iou']), .8)
            self.assertEqual(len(places.read_text(encoding='utf-8').splitlines()), 1 + 4 * len(boxes))
            for said, *arguments in (('has no target of other.avi', folder / 'other.avi'),
                                     ('no property "none-such"', '--element=none-such=1', clip)):
                done = subprocess.run([*program, *arguments], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 1)
                self.assertIn(said, done.stderr)

    def test_what_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            clip, labels = (pathlib.Path(folder, name) for name in ('flat.avi', 'labels'))
            subprocess.run(['gst-launch-1.0', '-q', 'videotestsrc', 'num-buffers=3', 'pattern=black', '!', 'jpegenc',
                            '!', 'avimux', '!', 'filesink', f'location={clip}'], check=True)
            labels.write_text('clip,target,frame,x,y,width,height\nflat.avi,black,0,9,9,60,60\n', encoding='utf-8')
            done = subprocess.run([sys.executable, FOLDER / 'clicks.py', f'--labels={labels}', clip],
                                  capture_output=True, text=True, check=True)
            self.assertRegex(done.stdout, r'(?m)^cudaxcorr +flat.avi +drag +1 +0 +0 +0 +0 +1 +0$')
            self.assertIn('flat.avi, black: cudaxcorr: The template', done.stderr)


class Calibration(unittest.TestCase):
    def test_what_follows_a_sure_mistake_is_left_out(self):
        for said, right, kept in (([.9, .87, .9, .8, .9], [1, 0, 0, 1, 1], [1, 1, 0, 1, 1]),
                                  ([.3, .8, .9], [0, 0, 0], [1, 1, 1]), ([NAN, .9], [0, 1], [0, 1])):
            np.testing.assert_array_equal(calibrate.counted(np.array(said), np.array(right, bool)), kept)

    def test_regression(self):
        x = np.linspace(-3, 3, 50)
        np.testing.assert_allclose(calibrate.regression(1 / (1 + np.exp(1 - 2 * x)), x), [2, -1])
        np.testing.assert_allclose(calibrate.odds(1 / (1 + np.exp(-x))), x)

    def test_program(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([MADE, folder], check=True)
            images = [f'{folder}/moves-{look}/0000.pgm' for look in ('clouds', 'pieces')]
            program = [sys.executable, FOLDER / 'calibrate.py', '--made', MADE, '--count=3']
            table = pathlib.Path(folder, 'confidence.csv')
            done = subprocess.run([*program, f'--csv={table}', *images], capture_output=True, text=True, check=True)
            for line, name in zip(done.stdout.splitlines(), ('template', 'filter'), strict=True):
                self.assertRegex(line, rf'^{name}: \d+ places, 0\.\d+ right; slope ')
                places = int(line.split()[1])
                rows = csv.DictReader(table.read_text(encoding='utf-8').splitlines()[1:])
                self.assertEqual(sum(int(row['places']) for row in rows if row['tracker'] == name), places)
            if importlib.util.find_spec('matplotlib'):
                plot = pathlib.Path(folder, 'plot.svg')
                subprocess.run([sys.executable, FOLDER / 'plot_confidence.py', table, f'--output={plot}'], check=True)
                self.assertIn('tracker=filter', plot.read_text(encoding='utf-8'))
            small = pathlib.Path(folder, 'small.pgm')
            small.write_bytes(b'P5\n16 16\n255\n' + bytes(256))
            for said, *photographs in (('smaller than 320x240', small, small), ('usage', images[0])):
                done = subprocess.run([*program, *photographs], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 1)
                self.assertIn(said, done.stderr)


if __name__ == '__main__':
    sys.path.insert(0, str(FOLDER))
    try:
        import numpy as np
        import calibrate
        import clicks
        import tracks
        from tracking import attributes, element, measures, sequences
    except (ImportError, ValueError) as why:  # the latter: gi has no such version
        print(f'nothing was tested: {why}')
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
