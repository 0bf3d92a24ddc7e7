#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What calibrate.py measured: plot_confidence.py CSV --output docs/images/confidence.svg

For places with about the same confidence the share that is right. Few places say little and are left out.
"""
import argparse
import csv
import pathlib

from matplotlib import pyplot

from figures import GREY, save, styled

COLOURS = {'template': '#e8590c', 'filter': '#2b80d8'}
LEAST_PLACES = 20


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('csv', help='of calibrate.py')
    parser.add_argument('--output', default='docs/images/confidence.svg', help='default docs/images/confidence.svg')
    options = parser.parse_args()
    lines = pathlib.Path(options.csv).read_text(encoding='utf-8').splitlines()
    rows = [row for row in csv.DictReader(lines[1:]) if int(row['places']) >= LEAST_PLACES]
    with styled():
        figure, axes = pyplot.subplots(figsize=(5.2, 4.4))
        axes.set(xlabel='confidence', ylabel='share of places that are right', xlim=(0, 1), ylim=(0, 1.02))
        axes.grid(color=GREY, alpha=0.3, linewidth=0.6)
        axes.plot([0, 1], [0, 1], color=GREY, linewidth=0.8)
        for name, colour in COLOURS.items():
            x, y = ([float(row[column]) for row in rows if row['tracker'] == name]
                    for column in ('confidence', 'right'))
            axes.plot(x, y, 'o-', color=colour, label=f'tracker={name}')
        axes.legend(frameon=False, labelcolor='linecolor')
        save(figure, options.output, 'How often a place is right, by confidence')


if __name__ == '__main__':
    main()
