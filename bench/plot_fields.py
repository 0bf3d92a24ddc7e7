#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Mean errors of displacement fields, as field_peers.py --csv writes them.

    plot_fields.py CSV --output docs/images/field-bias.svg

Of uniform displacements along x in steps of a tenth of a pixel: what swings between whole pixels is peak locking.
"""
import argparse
import csv
import pathlib

from matplotlib import pyplot

from figures import GREY, save, styled

CASES = {  # and their panels' titles
    'particles': 'particles of 2.5 px', 'particles of 1.5 px': 'particles of 1.5 px', 'speckles': 'speckles',
}
PROGRAMS = {  # their colours, and their names with the size of windows
    'xcorr, least squares 0': ('#e8590c', 'xcorr, least squares 0'),
    'xcorr, least squares 0, prefilter 0.7': ('#f2a93b', 'xcorr, least squares 0, prefilter 0.7'),
    'xcorr, 2w-w-w with deformation': ('#d6498b', 'xcorr, 64-32-32 with deformation'),
    'xcorr, gauss': ('#9a62dd', 'xcorr, gauss'),
    'OpenPIV, 2w-w-w with deformation': ('#2b80d8', 'OpenPIV, 64-32-32 with deformation'),
    'OpenCV, matchTemplate and gauss': ('#2f9e44', 'OpenCV, matchTemplate and gauss'),
}


def read(path):
    """{(case, program): [(displacement, mean error), ...]}, both along x."""
    lines = pathlib.Path(path).read_text(encoding='utf-8').splitlines()
    curves = {}
    for row in csv.DictReader(line for line in lines if not line.startswith('#')):
        curves.setdefault((row['case'], row['program']), []).append((float(row['dx']), float(row['mean_x'])))
    return {key: sorted(points) for key, points in curves.items()}


def draw(axes, case, curves):
    axes.set(title=CASES[case], xlabel='displacement, pixels')
    axes.grid(color=GREY, alpha=0.3, linewidth=0.6)
    for program, (colour, name) in PROGRAMS.items():
        if (case, program) in curves:
            ours = name.startswith('xcorr')
            axes.plot(*zip(*curves[case, program]), 'o-' if ours else 'o--', color=colour, label=name,
                      markersize=5 if ours else 2.5, linewidth=2.2 if ours else 1.2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('csv', help='of field_peers.py')
    parser.add_argument('--output', default='docs/images/field-bias.svg', help='default docs/images/field-bias.svg')
    options = parser.parse_args()
    curves = read(options.csv)
    with styled():
        figure, panels = pyplot.subplots(1, len(CASES), figsize=(9.6, 4.4), sharey=True)
        figure.subplots_adjust(left=0.08, right=0.99, top=0.93, bottom=0.29, wspace=0.08)
        for axes, case in zip(panels, CASES):
            draw(axes, case, curves)
        panels[0].set_ylabel('mean error, pixels')
        named = {name: line for axes in panels for line, name in zip(*axes.get_legend_handles_labels())}
        figure.legend(named.values(), named.keys(), loc='lower center', ncols=3, frameon=False,
                      labelcolor='linecolor')
        save(figure, options.output, 'Mean errors of displacements, by parts of a pixel')


if __name__ == '__main__':
    main()
