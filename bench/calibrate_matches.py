#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whether the confidence of matches is what it says it is: of the places with a confidence of p, is a share of p right?

    calibrate_matches.py [--match-on=edges] [--cases=170] [--angles=30] [--csv=FILE] [PHOTOGRAPH...]
    calibrate_matches.py [--match-on=edges] --fit

Parts are looked for in frames made of the photographs, see matching/cases.py: in so many of each photograph. Without
photographs those of scikit-image. Prints a table, and the slope and the offset of a logistic regression of what was
right on the logarithm of the odds that are said, which are 1 and 0 where confidence is right.

`--fit` fits what the library calculates confidence by (kernels/match/confidence.cpp), and says for each photograph how
far a fit to the others is off there, where it says more than 0.6.
"""
import argparse
import csv
import os
import sys

import numpy as np
import xcorr

from matching import cases
from posing import images
from reliability import bins, odds, regression

FLOORS, MOST = {'luma': 0.3, 'edges': 0.2}, 0.999  # of similarities, as in the library
SURE = 0.6


def photographs(paths):
    """{name: gray}"""
    if not paths:
        return images.photographs()
    from PIL import Image  # pylint: disable=import-outside-toplevel
    return {os.path.basename(path): images.gray(Image.open(path).convert('RGB')) for path in paths}


def made(number, name, known, count):
    """(random, case) for so many cases of a photograph."""
    rng, others = np.random.default_rng(100 + number), [known[other] for other in known if other != name]
    for _ in range(count):
        yield rng, cases.make(rng, known[name], others)


def matched(case, **settings):
    """Its peaks; none where the template has too few edges."""
    try:
        return xcorr.Matcher([case.template], device='cpu', **settings).match(case.frame)
    except ValueError as error:
        if 'too few edges' not in str(error):
            raise
        return np.empty(0, xcorr.PEAK)


def said(rng, case, options):
    """(confidence, whether the place is right) of all peaks."""
    poses = xcorr.Poses(angle_start=-options.angles / 2, angle_extent=options.angles) if options.angles else None
    peaks = matched(case, threshold=-1, max_peaks=case.max_peaks, min_confidence=0, poses=poses,
                    match_on=options.match_on)
    return np.stack([peaks['confidence'], case.right(rng, peaks)], axis=1)


def measured(rng, case, match_on):
    """(what the confidence of a peak depends on, whether the place is right) of all peaks."""
    floor = FLOORS[match_on]
    peaks = matched(case, threshold=floor, max_peaks=case.max_peaks + 1, match_on=match_on)
    other = peaks['closeness'][case.max_peaks] if len(peaks) > case.max_peaks else floor
    peaks = peaks[:case.max_peaks]
    peak = np.arctanh(np.minimum(peaks['closeness'], MOST))
    lead = np.maximum(peak - np.arctanh(min(other, MOST)), 0)
    return np.stack([peak, np.sqrt(lead), case.right(rng, peaks)], axis=1)


def fit(known, options):
    rows = {name: np.concatenate([measured(*each, options.match_on)
                                  for each in made(number, name, known, options.cases)])
            for number, name in enumerate(known)}
    peak, lead, right = np.concatenate(list(rows.values())).T
    print('weights of peak and lead, offset:', *(f'{weight:.2f}' for weight in regression(right, peak, lead)))
    for name, (peak, lead, right) in ((name, own.T) for name, own in rows.items()):
        others = np.concatenate([rows[other] for other in rows if other != name]).T
        *weights, offset = regression(others[2], *others[:2])
        sure = 1 / (1 + np.exp(-(weights[0] * peak + weights[1] * lead + offset)))
        here = sure > SURE
        print(f'  {name}: {here.sum()} places, said {sure[here].mean():.2f}, right {right[here].mean():.2f}')


def calibrate(known, options):
    rows = [said(*each, options) for number, name in enumerate(known)
            for each in made(number, name, known, options.cases)]
    confidence, right = np.concatenate(rows).T
    slope, offset = regression(right, odds(confidence))
    base = right.mean()
    print(f'{len(rows)} cases of {len(known)} photographs, {len(right)} places, {base:.3f} right; Brier score '
          f'{np.mean((confidence - right) ** 2):.3f} (always the mean: {base * (1 - base):.3f}); slope {slope:.2f}, '
          f'offset {offset:.2f}')
    with open(options.csv, 'w', encoding='utf-8') as file:
        table = csv.writer(file, lineterminator='\n')
        table.writerow(['places', 'confidence', 'right'])
        for count, sure, share in bins(confidence, right):
            table.writerow([count, f'{sure:.4f}', f'{share:.4f}'])
            print(f'  {count:6} places: said {sure:.2f}, right {share:.2f}')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('photographs', nargs='*', metavar='PHOTOGRAPH', help='two or more, 100 x 100 or larger')
    parser.add_argument('--cases', type=int, default=170, help='of each photograph, default 170')
    parser.add_argument('--match-on', choices=FLOORS, default='luma', help='default luma')
    parser.add_argument('--angles', type=float, default=0, help='degrees that are searched, about upright; default 0')
    parser.add_argument('--fit', action='store_true')
    parser.add_argument('--csv', default=os.devnull, metavar='FILE', help='write there the table')
    options = parser.parse_args()
    known = photographs(options.photographs)
    if options.fit:
        fit(known, options)
    else:
        calibrate(known, options)
    return 0


if __name__ == '__main__':
    sys.exit(main())
