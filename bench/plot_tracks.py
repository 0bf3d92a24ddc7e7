#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Success curves of what tracks.py measured: plot_tracks.py CSV... --output docs/images/success.svg

For each overlap with the truth the share of frames in which a tracker has a larger one, mean of the sequences; the
area under a curve is behind its name.
"""
import argparse
import csv
import itertools
import pathlib

import numpy as np
from matplotlib import pyplot

from figures import GREY, save, styled

OUR_COLOURS = ('#e8590c', '#d6498b', '#9a62dd')
COLOURS = ('#2b80d8', '#2f9e44', '#15929f', '#74940f', '#8a7f76')
OURS = 'cudaxcorr'
MEAN = 'mean'


def read(path):
    """The rows of a file that are means, best first, and how many sequences they are of."""
    lines = pathlib.Path(path).read_text(encoding='utf-8').splitlines()
    rows = list(csv.DictReader(line for line in lines if not line.startswith('#')))
    means = sorted((row for row in rows if row['sequence'] == MEAN), key=lambda row: -float(row['auc']))
    return means, len({row['sequence'] for row in rows} - {MEAN})


def colours_of(trackers):
    """{tracker: its colour}, one for all panels."""
    ours, others = itertools.cycle(OUR_COLOURS), itertools.cycle(COLOURS)
    return {name: next(ours if name.startswith(OURS) else others) for name in dict.fromkeys(trackers)}


def draw(axes, rows, count, colours):
    axes.set(title=f'{count} sequences', xlabel='overlap with the truth (intersection over union)',
             ylabel='share of frames with more', xlim=(0, 1), ylim=(0, 1))
    axes.grid(color=GREY, alpha=0.3, linewidth=0.6)
    for row in rows:
        shares = [float(share) for share in row['success'].split()]
        name = row['tracker']
        axes.plot(np.linspace(0, 1, len(shares)), shares, color=colours[name],
                  linewidth=2.6 if name.startswith(OURS) else 1.4, label=f'{name}: {float(row["auc"]):.3f}')
    axes.legend(loc='upper left', bbox_to_anchor=(1.02, 1.02), frameon=False, labelcolor='linecolor')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('csv', nargs='+', help='of tracks.py; a panel each')
    parser.add_argument('--output', default='docs/images/success.svg', help='default docs/images/success.svg')
    options = parser.parse_args()
    results = [read(path) for path in options.csv]
    colours = colours_of(row['tracker'] for rows, _ in results for row in rows)
    with styled():
        height = 3.6 * len(options.csv) + 0.3  # inches
        figure, panels = pyplot.subplots(len(options.csv), 1, figsize=(8.6, height), squeeze=False)
        figure.subplots_adjust(left=0.09, right=0.6, top=1 - 0.3 / height, bottom=0.55 / height, hspace=0.4)
        for axes, (rows, count) in zip(panels[:, 0], results):
            draw(axes, rows, count, colours)
        save(figure, options.output, 'How well targets are followed')


if __name__ == '__main__':
    main()
