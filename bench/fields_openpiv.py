#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Displacement fields of given pairs beside OpenPIV's, pair by pair: windows of 64, 32 and 32 pixels every 8, with
deformation.

    fields_openpiv.py --pairs=FOLDER [--device=cpu] [--csv=FILE]

The pairs are those that field_peers.py --pairs takes. Each program gets the same windows, spacing and number of passes,
and OpenPIV the grid of its first pass (every 32 pixels) with which it is best. Prints for each program and pair the
root of the mean square of a component's error in pixels, over all vectors that are at least 32 pixels from the image's
edges: none is left out as an outlier, and one that was replaced counts as what it was replaced by. Needs what
field_peers.py needs, and OpenPIV.
"""
import argparse
import contextlib
import csv
import os
import pathlib

import numpy as np

import field_peers
from compare import machine

WINDOWS, SPACING, MARGIN = (64, 32, 32), 8, 32
LAYOUT = field_peers.Layout(WINDOWS[-1], SPACING, MARGIN)


def of_ours(**settings):
    return field_peers.of_ours(lambda _: WINDOWS, deformation=True, **settings)


def of_openpiv(**settings):
    """Its vectors belong to the middle of the way, its y points upwards and its places are edges of pixels."""
    def measure(before, after, layout, _):
        from openpiv import windef  # pylint: disable=import-outside-toplevel
        given = {'windowsizes': WINDOWS, 'num_iterations': len(WINDOWS), 'show_plot': False, 'show_all_plots': False,
                 'overlap': (WINDOWS[0] // 2, *(window - layout.spacing for window in WINDOWS[1:])), **settings}
        openpiv = windef.PIVSettings()
        for name, value in given.items():
            setattr(openpiv, name, value)
        x, y, dx, dy, _ = windef.simple_multipass(before.astype(float), after.astype(float), openpiv)
        return x - 0.5, before.shape[0] - y - 0.5, dx, -dy, True
    return measure


PROGRAMS = {
    'xcorr': of_ours(),
    'xcorr, symmetric': of_ours(symmetric=True),
    'xcorr, median_limit 4': of_ours(median_limit=4),
    'xcorr, least squares': of_ours(subpixel='least-squares'),
    'xcorr, least squares, weight 10': of_ours(subpixel='least-squares', weight_sigma=10),
    'OpenPIV': of_openpiv(),
    'OpenPIV, second image deformed': of_openpiv(deformation_method='second image'),
    'OpenPIV, normalised, linear': of_openpiv(normalized_correlation=True, correlation_method='linear'),
}


def rms(field, pair):
    x, y, dx, dy = (np.asarray(each, float).ravel() for each in field[:4])
    height, width = pair.before.shape
    inside = (x >= MARGIN) & (x <= width - 1 - MARGIN) & (y >= MARGIN) & (y <= height - 1 - MARGIN)
    error = np.stack([dx, dy])[:, inside] - pair.truth(x[inside], y[inside], field[4])
    return np.sqrt((error ** 2).mean())


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--pairs', type=pathlib.Path, required=True, help='a folder of given pairs')
    parser.add_argument('--device', default='cpu', help='of ours; default cpu')
    parser.add_argument('--csv', default=os.devnull, metavar='FILE', help='write the table there, too')
    options = parser.parse_args(arguments)
    pairs = list(field_peers.given_pairs(options.pairs))
    print('| program | ' + ' | '.join(pair.case for pair in pairs) + ' |')
    print('| --- |' + ' ---: |' * len(pairs))
    with open(options.csv, 'w', encoding='utf-8') as file:
        who = ', '.join([machine('cpu', None), *field_peers.versions()])
        file.write(f'# {who}; fields_openpiv.py: errors in pixels\n')
        table = csv.writer(file, lineterminator='\n')
        table.writerow(['program', *(pair.case for pair in pairs)])
        for name, program in PROGRAMS.items():
            with contextlib.redirect_stdout(None):  # OpenPIV talks
                fields = [program(pair.before, pair.after, LAYOUT, options.device) for pair in pairs]
            errors = [f'{rms(field, pair):.4f}' for field, pair in zip(fields, pairs)]
            table.writerow([name, *errors])
            print('| ' + ' | '.join([name, *errors]) + ' |', flush=True)


if __name__ == '__main__':
    main()
