#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The figure of what growth.py measured: plot_growth.py CSV --output docs/images/growth.svg

Times on an H200 against one thing at a time, all else fixed, beside the floor: see floor_of() in growth.py.
"""
import argparse

from matplotlib import pyplot
from matplotlib.ticker import FuncFormatter, NullLocator

from figures import GREY, save, styled
from growth import floor_of, numbers, rows_of

MEASURED, FLOOR = '#e8590c', '#2b80d8'
BASE = {'width': '1920', 'height': '1080', 'side': '64', 'templates': '1', 'degrees': '0'}
PANELS = (  # (its sweep, the axis, a row's place on it)
    ('frame', 'millions of pixels of a frame; one template of 64x64', lambda row: numbers(row)[0]),
    ('side', 'side of the template, pixels; 1920x1080', lambda row: int(row['side'])),
    ('count', 'templates of 64x64; 1920x1080', lambda row: int(row['templates'])),
    ('angles', 'degrees that one template of 64x64 is searched at; 1920x1080', lambda row: int(row['degrees'])),
    ('targets', 'targets of 64x64 that filters follow and learn; 1920x1080', lambda row: int(row['targets'])),
)


def in_sweep(row, sweep):
    """What stands in several sweeps is in the first: the frame, template and number that the others have fixed."""
    return row['sweep'] == sweep or sweep in ('side', 'count') and all(row[name] == BASE[name] for name in BASE)


def draw(axes, rows, sweep, label, place):
    points = sorted((place(row), float(row['stream_ms']), floor_of(row)[0]) for row in rows if in_sweep(row, sweep))
    x, measured, least = zip(*points)
    axes.set(xlabel=label, ylabel='milliseconds a frame', xscale='log', yscale='log')
    axes.plot(x, measured, color=MEASURED, marker='o', label='measured')
    axes.plot(x, least, color=FLOOR, linestyle='--', label='floor')
    axes.set_xticks(x, [f'{value:.3g}' for value in x])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f'{y:g}'))
    axes.grid(which='major', color=GREY, alpha=0.3, linewidth=0.6)
    axes.legend(frameon=False, labelcolor=GREY)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('csv', help='of growth.py measure')
    parser.add_argument('--output', default='docs/images/growth.svg')
    options = parser.parse_args()
    note, rows = rows_of(options.csv)
    with styled():
        figure, panels = pyplot.subplots(len(PANELS), 1, figsize=(8.6, 2.9 * len(PANELS)))
        figure.suptitle('How the time of a match grows', x=0.09, ha='left', fontsize=12, fontweight='bold')
        for axes, (sweep, label, place) in zip(panels, PANELS):
            draw(axes, rows, sweep, label, place)
        figure.text(0.09, 0.004, note, fontsize=8.5, va='bottom')
        figure.tight_layout(rect=(0, 0.015, 1, 0.99))
        save(figure, options.output, 'How the time of a match grows')


if __name__ == '__main__':
    main()
