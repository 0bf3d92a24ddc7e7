#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""stb-tester's own tests of finding pictures, answered by xcorr: bench/peers/stbt.py CHECKOUT

CHECKOUT is a clone of github.com/stb-tester/stb-tester; its tests run there, once as they are and once with the first
pass of its `match`, which finds the candidates, replaced by `xcorr.matchTemplate` at full size: no pyramid. What
confirms candidates stays stb-tester's. Prints how many tests passed, those that fail with their reasons, and how long
both take for the pictures of these tests. Needs the package xcorr, pytest, OpenCV and what stb-tester imports;
tesseract, or its tests of match are skipped.
"""
import argparse
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

TESTS = ('tests/test_match.py', 'tests/test_mask.py', 'tests/test_core.py', 'tests/test_frameobject.py',
         '_stbt/match.py')
#: Template, frame.
PICTURES = (('action-panel-prototype.png', 'action-panel.png'), ('action-panel-template.png', 'action-panel.png'),
            ('button.png', 'buttons.png'), ('button-transparent.png', 'buttons-on-blue-background.png'),
            ('videotestsrc-redblue.png', 'videotestsrc-full-frame.png'),
            ('videotestsrc-redblue-flipped.png', 'videotestsrc-full-frame.png'),
            ('repeating-pattern.png', 'repeating-pattern-full-frame.png'),
            ('images/regression/roku-tile-selection.png', 'images/regression/roku-tile-frame.png'),
            ('images/regression/xfinity-selection.png', 'images/regression/xfinity-frame.png'),
            ('images/regression/badpyramid-reference.png', 'images/regression/badpyramid-frame.png'))


class Adapter:
    """In the place of stb-tester's first pass."""

    def __init__(self):
        import _stbt.match as theirs  # pylint: disable=import-outside-toplevel
        import xcorr  # pylint: disable=import-outside-toplevel
        self.theirs, self.xcorr, self.calls = theirs, xcorr, 0
        self.own = theirs._find_candidate_matches

    def install(self):
        self.theirs._find_candidate_matches = self.candidates

    def remove(self):
        self.theirs._find_candidate_matches = self.own

    def dissimilarity(self, image, template, method):
        """Of each place, 0 to 1."""
        import numpy  # pylint: disable=import-outside-toplevel
        xcorr, names = self.xcorr, self.theirs.MatchMethod
        mask = None
        if template.shape[2] == 4:
            mask = numpy.ascontiguousarray(numpy.repeat(template[:, :, 3:] == 255, 3, 2)).astype(numpy.uint8)
            template = template[:, :, :3]
            if not mask.any():
                return numpy.zeros([image.shape[i] - template.shape[i] + 1 for i in (0, 1)], numpy.float32)
        number = {names.SQDIFF: xcorr.TM_SQDIFF, names.SQDIFF_NORMED: xcorr.TM_SQDIFF_NORMED,
                  names.CCORR_NORMED: xcorr.TM_CCORR_NORMED, names.CCOEFF_NORMED: xcorr.TM_CCOEFF_NORMED}[method]
        scores = xcorr.matchTemplate(numpy.ascontiguousarray(image), numpy.ascontiguousarray(template), number,
                                     mask=mask)
        if method == names.SQDIFF:
            return scores / (255 ** 2 * (template.size if mask is None else numpy.count_nonzero(mask)))
        return scores if method == names.SQDIFF_NORMED else 1 - scores

    def candidates(self, image, template, parameters, _log):
        """As stb-tester asks for them: number, whether it matches, where, how well; the last one does not match."""
        import numpy  # pylint: disable=import-outside-toplevel
        self.calls += 1
        height, width = template.shape[:2]
        surface = self.dissimilarity(image, template, parameters.match_method)
        for number in itertools.count():
            y, x = numpy.unravel_index(numpy.argmin(surface), surface.shape)
            certainty = 1 - float(surface[y, x])
            region = self.theirs.Region(int(x), int(y), width=width, height=height)
            matched = certainty >= parameters.match_threshold
            yield number, matched, region, certainty
            if not matched:
                return
            surface[max(0, y - height + 1):y + height, max(0, x - width + 1):x + width] = 1  # nothing that overlaps


class Recorder:
    """A plugin of pytest: what became of each test, and whether it asked for matches."""

    def __init__(self, adapter):
        self.adapter, self.results = adapter, {}

    def pytest_runtest_logreport(self, report):
        if report.when == 'call' or report.outcome != 'passed':
            reason = ''
            if report.failed:
                reason = str(getattr(report.longrepr, 'reprcrash', None) and report.longrepr.reprcrash.message
                             or report.longrepr).splitlines()[0][:200]
            self.results[report.nodeid] = [report.outcome, reason, self.adapter.calls]
            self.adapter.calls = 0


def times(adapter):
    """Milliseconds of stb-tester's match and of ours, for each of the pictures, and whether the places agree."""
    import stbt_core  # pylint: disable=import-outside-toplevel
    rows = []
    for template, frame in PICTURES:
        image, reference = stbt_core.load_image(frame, color_channels=3), stbt_core.load_image(template)
        row, found = [f'{template} in {frame}, {image.shape[1]}x{image.shape[0]}'], []
        for switch in (adapter.remove, adapter.install):
            switch()
            taken = []
            for _ in range(7):
                begin = time.perf_counter()
                found.append(stbt_core.match(reference, image))
                taken.append(1000 * (time.perf_counter() - begin))
            row.append(statistics.median(taken))
        same = found[0].match == found[-1].match and (not found[0].match or found[0].region == found[-1].region)
        rows.append([*row, 'the same' if same else f'{found[0].match} {found[0].region} and {found[-1].match} '
                     f'{found[-1].region}'])
    return rows


def run_here(whose, output):
    """The tests, in this process."""
    import pytest  # pylint: disable=import-outside-toplevel
    sys.path.insert(0, os.getcwd())
    adapter = Adapter()
    if whose == 'ours':
        adapter.install()
    recorder = Recorder(adapter)
    pytest.main(['-q', '-p', 'no:cacheprovider', '--no-header', '--tb=short', *TESTS], plugins=[recorder])
    sys.path.insert(0, os.path.join(os.getcwd(), 'tests'))
    os.chdir('tests')
    output.write_text(json.dumps({'results': recorder.results, 'times': times(adapter) if whose == 'ours' else []}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('checkout', type=pathlib.Path)
    parser.add_argument('--verbose', action='store_true', help="print pytest's own output")
    options = parser.parse_args()
    told = {}
    with tempfile.TemporaryDirectory() as folder:
        for whose in ('theirs', 'ours'):
            output = pathlib.Path(folder, f'{whose}.json')
            subprocess.run([sys.executable, __file__, '--here', whose, output], cwd=options.checkout, check=True,
                           stdout=None if options.verbose else subprocess.DEVNULL,
                           env=os.environ | {'PYTHONDONTWRITEBYTECODE': '1'})
            told[whose] = json.loads(output.read_text())
    asked = {name for name, (_, _, calls) in told['ours']['results'].items() if calls}
    for whose, label in (('theirs', 'by stb-tester itself'), ('ours', 'by xcorr')):
        results = told[whose]['results']
        counts = {outcome: sum(result[0] == outcome for result in results.values())
                  for outcome in ('passed', 'failed', 'skipped')}
        about = sum(results[name][0] == 'passed' for name in asked if name in results)
        print(f'{label}: {counts["passed"]} passed, {counts["failed"]} failed, {counts["skipped"]} skipped; of the '
              f'{len(asked)} that ask for matches {about} passed')
        for name, (outcome, reason, _) in results.items():
            if outcome == 'failed':
                print(f'  {name}: {reason}')
    print('\nms of a match: stb-tester, xcorr, their results')
    for name, theirs, ours, same in told['ours']['times']:
        print(f'  {theirs:8.1f} {ours:8.1f}  {name}: {same}')
    return any(result[0] == 'failed' for result in told['ours']['results'].values())


if __name__ == '__main__':
    if sys.argv[1:2] == ['--here']:
        run_here(sys.argv[2], pathlib.Path(sys.argv[3]))
    else:
        sys.exit(main())
