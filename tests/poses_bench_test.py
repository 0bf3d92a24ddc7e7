#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""bench/poses.py draws what it says, and counts right: poses_bench_test.py BENCH_FOLDER

Without NumPy everything is skipped, without the package xcorr what searches.
"""
import contextlib
import importlib.util
import io
import pathlib
import sys
import unittest
from unittest import mock

FOLDER = pathlib.Path(sys.argv[1])


def photograph(seed, width=260, height=240):
    """Spots of all sizes."""
    random = np.random.default_rng(seed)
    made = np.zeros((height, width), np.float32)
    for cell in (4, 10, 20):
        spots = random.uniform(0, 85, (height // cell, width // cell)).astype(np.float32)
        made += np.kron(spots, np.ones((cell, cell), np.float32))
    return made


class Scenes(unittest.TestCase):
    def test_a_part_upright_is_its_template(self):
        part = scenes.Part(photograph(1), (130, 120), 32)
        drawn = part.drawn_on(np.zeros((50, 60), np.float32), (20 + 15.5, 10 + 15.5, 0, 1))
        np.testing.assert_allclose(drawn[10:42, 20:52], part.template(), atol=1e-3)
        self.assertEqual(np.count_nonzero(drawn), 32 * 32)

    def test_angles_are_counter_clockwise(self):
        part = scenes.Part(photograph(2), (130, 120), 24)
        drawn = part.drawn_on(np.zeros((24, 24), np.float32), (11.5, 11.5, 90, 1))
        np.testing.assert_allclose(drawn, np.rot90(part.template()), atol=1e-2)

    def test_poses_are_drawn_as_those_of_the_results_were(self):
        """In another order the same seeds would give other scenes than bench/results has figures of."""
        asked = []
        random = mock.Mock(uniform=lambda least, most: asked.append((least, most)) or (least + most) / 2)
        part = scenes.Part(photograph(1), (130, 120), 64)
        pose = scenes.some_pose(random, scenes.Kind(64, scales=(1, 3)), part, [], 600, 500)
        self.assertEqual(asked, [(1, 3), (102, 497), (102, 397), (0, 360)])  # scale, x, y, angle
        self.assertEqual(pose, (299.5, 249.5, 180, 2))

    def test_scales(self):
        part = scenes.Part(photograph(3), (130, 120), 24)
        larger = part.drawn_on(np.zeros((48, 48), np.float32), (23.5, 23.5, 0, 2), 6)
        np.testing.assert_allclose(larger.reshape(24, 2, 24, 2).mean((1, 3)), part.template(), atol=4)

    def test_a_disc_hides_what_is_round_it(self):
        part = scenes.Part(photograph(4), (130, 120), 30, 'disc')
        drawn = part.drawn_on(np.full((30, 30), -7, np.float32), (14.5, 14.5, 33, 1))
        self.assertEqual(drawn[0, 0], -7)
        self.assertAlmostEqual(np.count_nonzero(drawn >= 0) / 900, np.pi / 4, delta=0.06)
        self.assertAlmostEqual(part.mask().mean(), np.pi / 4, delta=0.02)

    def test_a_bar(self):
        part = scenes.Part(photograph(4), (130, 120), 30, 'bar')
        square = scenes.Part(photograph(4), (130, 120), 30)
        np.testing.assert_allclose(part.template(), square.template()[10:20], atol=1e-3)
        drawn = part.drawn_on(np.full((30, 30), -7, np.float32), (14.5, 14.5, 90, 1))
        self.assertEqual(np.count_nonzero(drawn >= 0), 300)
        self.assertIsNone(part.mask())
        self.assertGreater(part.bound(4, True)[0], square.bound(4, True)[0])
        self.assertEqual(scenes.Kind(96, 'bar').name, 'bar of 96x32')

    def test_the_least_error(self):
        part = scenes.Part(photograph(5), (130, 120), 32)
        brighter = scenes.Part(3 * photograph(5), (130, 120), 32)
        np.testing.assert_allclose(part.bound(4, True), 3 * brighter.bound(4, True), rtol=1e-3)
        self.assertEqual(part.bound(4, False)[2], 0)
        ramp = np.tile(np.arange(260, dtype=np.float32), (240, 1))
        self.assertTrue(np.all(np.isinf(scenes.Part(ramp, (130, 120), 32).bound(4, False))))

    def test_a_scene(self):
        kind = scenes.Kind(32, 'disc', (0.8, 1.25))
        made, again = (scenes.scene(3, [photograph(6), photograph(7)], kind, parts=2, width=320, height=240)
                       for _ in range(2))
        np.testing.assert_array_equal(made.frame, again.frame)
        self.assertEqual((made.frame.shape, made.template.shape, len(made.poses)), ((240, 320), (32, 32), 2))
        self.assertTrue(all(0.8 <= pose[3] <= 1.25 for pose in made.poses))
        self.assertEqual(kind.name, 'disc of 32, 0.8 to 1.25 times')

    def test_parts_that_stick_out(self):
        part = scenes.Part(photograph(1), (130, 120), 32)
        for pose, share in (((50, 40, 20, 1), 0), ((-0.5, 40, 0, 1), 0.5), ((-0.5, 79.5, 90, 2), 0.75),
                            ((119.5, 30, 0, 1), 0.5)):
            self.assertAlmostEqual(scenes.share_outside(part, pose, 120, 80), share, delta=0.02)
        kind = scenes.Kind(32, 'disc', overhang=0.4)
        made = scenes.scene(3, [photograph(6), photograph(7)], kind, parts=3, width=320, height=240)
        part = scenes.Part(photograph(6), (130, 120), 32, 'disc')
        shares = [scenes.share_outside(part, pose, 320, 240) for pose in made.poses]
        self.assertTrue(all(0.05 <= share <= 0.4 for share in shares), shares)
        self.assertEqual(kind.name, 'disc of 32, up to 40 % outside')

    def test_parts_that_are_hidden(self):
        part = scenes.Part(photograph(6), (130, 120), 32)
        pose = 49.5, 49.5, 30, 1
        whole = part.drawn_on(np.zeros((100, 100), np.float32), pose)
        seen = [part.drawn_on(np.zeros((100, 100), np.float32), pose, hidden=0.25, side=side) for side in range(4)]
        for each in seen:
            self.assertAlmostEqual(np.count_nonzero(each) / np.count_nonzero(whole), 0.75, delta=0.03)
        # Strips along opposite sides are apart, along others they cross.
        for i, other, crossing in ((0, 2, 0), (1, 3, 0), (0, 1, 1 / 16)):
            neither = np.count_nonzero((whole > 0) & (seen[i] == 0) & (seen[other] == 0))
            self.assertAlmostEqual(neither / np.count_nonzero(whole), crossing, delta=0.02)
        kind = scenes.Kind(32, hidden=0.25)
        made = scenes.scene(3, [photograph(6), photograph(7)], kind, parts=2, width=320, height=240)
        self.assertEqual([(each.shape, each.mean()) for each in made.seen], 2 * [((32, 32), 0.75)])
        self.assertEqual(scenes.Kind(128, hidden=0.3).name, 'square of 128, 30 % hidden')

    def test_fine_lines(self):
        for kind in drawings.KINDS:
            made = [drawings.KINDS[kind](np.random.default_rng(seed)) for seed in (0, 0, 1)]
            np.testing.assert_array_equal(made[0], made[1])
            made = made[1:]
            self.assertFalse(np.array_equal(made[0], made[1]))
            detail = [part - np.kron(part.reshape(15, 4, 15, 4).mean((1, 3)), np.ones((4, 4)))
                      for part in (scenes.Part(each, (300, 300), 60).template() for each in made)]
            # Most of what they show is gone in an image of a quarter of the size.
            lost = np.mean([each.std() for each in detail])
            shown = np.mean([scenes.Part(each, (300, 300), 60).template().std() for each in made])
            self.assertGreater(lost, 0.7 * shown, kind)
        self.assertEqual(scenes.Kind(60, lines='coils').name, 'coils, square of 60')


class Shifts(unittest.TestCase):
    def test_quarters_of_a_pixel(self):
        y, x = np.mgrid[:48.0, :64.0]
        still = shifts.moved(3 * x + 5 * y, 0, 0)
        for right, down in ((0, 0), (1, 0), (2, 3)):
            there = shifts.moved(3 * x + 5 * y, right, down)
            self.assertEqual(there.shape, (11, 15))
            # A pixel is four of the photograph's: a quarter adds one of their slopes.
            np.testing.assert_allclose(there, still + 3 * right + 5 * down)

    def test_templates_lie_where_they_are_said_to(self):
        image = np.repeat(np.repeat(photograph(8), 4, 0), 4, 1)
        found = 0
        for template, frame, (x, y) in shifts.pairs(image, 16, 0, np.random.default_rng(1)):
            left, top = int(np.ceil(x)), int(np.ceil(y))
            if (left - x, top - y) == (0.25, 0):
                window = 0.75 * frame[top:top + 16, left - 1:left + 15] + 0.25 * frame[top:top + 16, left:left + 16]
                found += np.corrcoef(window.ravel(), template.ravel())[0, 1] > 0.9
        self.assertGreater(found, 50)


class Judging(unittest.TestCase):
    TRUE = [(100, 50, 359, 1), (30, 40, 90, 1.2)]
    BOUND = (0.1, 0.2, 0.3)

    def test_what_is_found(self):
        judge = Judge()
        judge.add([(100.3, 50.4, 1, 1.05), (30, 40, 90, 1.2)], self.TRUE, self.BOUND)
        self.assertEqual((judge.parts, len(judge.errors), judge.false), (2, 2, 0))
        np.testing.assert_allclose(judge.errors, [(0.5, 2, 0.05), (0, 0, 0)], atol=1e-9)
        np.testing.assert_allclose(judge.table()[0], (0.25, 1, 0.025))
        np.testing.assert_allclose(judge.table()[2], self.BOUND)

    def test_what_is_not(self):
        for wrong in ((104, 50, 359, 1), (100, 50, 353, 1), (100, 50, 359, 1.2)):
            judge = Judge()
            judge.add([wrong], self.TRUE, self.BOUND)
            self.assertEqual((judge.parts, len(judge.errors), judge.false), (2, 0, 1))
            self.assertTrue(np.all(np.isnan(judge.table())))

    def test_a_part_counts_once(self):
        judge = Judge()
        judge.add([(100, 50, 359, 1), (100.1, 50, 359, 1)], self.TRUE, self.BOUND)
        self.assertEqual((len(judge.errors), judge.false), (1, 1))


class Program(unittest.TestCase):
    def setUp(self):
        if not importlib.util.find_spec('xcorr'):
            self.skipTest('no package xcorr')

    def rows(self, *arguments):
        import poses
        said = io.StringIO()
        photographs = {str(seed): photograph(seed, 400, 400) for seed in range(3)}
        with mock.patch('posing.images.photographs', lambda: photographs), contextlib.redirect_stdout(said), \
                mock.patch('sys.argv', ['poses.py', *arguments, '--device=cpu']):
            poses.main()
        return [line.split('  ') for line in said.getvalue().splitlines()]

    def test_scenes(self):
        head, row = self.rows('scenes', '--parts=3', '--filter=square of 64', '--repeats=1')
        row = dict(zip(head, row))
        self.assertEqual((row['parts'], row['found'], row['false']), ('3', '3', '0'))
        self.assertLess(float(row['place_95']), 0.1)

    def test_shifts(self):
        head, *rows = self.rows('shifts')
        mean = {row[0]: float(row[head.index('mean')]) for row in rows}
        self.assertLess(mean['least-squares'], mean['quadratic'])
        self.assertLess(mean['quadratic'], mean['none'])


if __name__ == '__main__':
    if not importlib.util.find_spec('numpy'):
        print('no NumPy: nothing was tested')
        sys.exit(77)
    sys.path.insert(0, str(FOLDER))
    import numpy as np
    from posing import drawings, scenes, shifts
    from posing.judge import Judge
    unittest.main(argv=sys.argv[:1], verbosity=2)
