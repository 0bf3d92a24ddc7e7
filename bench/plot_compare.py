#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Figures of what compare.py measured: plot_compare.py CSV --output docs/images/

    comparison.svg   time against the template's size, the number of templates, the frame's size
    speed.svg        the first of the three alone

Frames are enqueued back to back, as in a stream; match() is also drawn one frame at a time. Greys and
colours are of middle lightness on no background, so that they are legible on light and on dark pages. The
same CSV gives the same files.
"""
import argparse
import csv
import pathlib

import matplotlib
import numpy as np

matplotlib.use('svg')
# pylint: disable=wrong-import-position
from matplotlib import pyplot  # noqa: E402
from matplotlib.ticker import FuncFormatter, NullLocator  # noqa: E402

GREY = '#6e7781'
OURS = 'cudaxcorr'
# program: (what it is for a reader, colour, marker)
PROGRAMS = {
    OURS: ('cudaxcorr: peaks', '#e8590c', 'o'),
    'npp-normlevel': ('NPP NormLevel: scores', '#2f9e44', 's'),
    'npp-norm': ('NPP Norm: scores', '#66a80f', 'D'),
    'cufft': ('cuFFT: products', '#1c7ed6', '^'),
    'torch-fft': ('PyTorch FFT: products', '#1098ad', 'v'),
    'torch-conv-fp32': ('PyTorch conv2d: products', '#9c5ed6', '<'),
    'torch-conv-fp16': ('PyTorch conv2d fp16: products', '#d6498b', '>'),
    'opencv': ('OpenCV on the CPU: scores', '#868e96', 'x'),
}
AXES = {  # sweep: (title, the axis, a row's place on it and name there, what all its rows have)
    'side': ('template size', 'side of the template, pixels', lambda row: int(row['side']),
             lambda row: row['side'], '{templates} template in {width}x{height}'),
    'count': ('number of templates', 'templates', lambda row: int(row['templates']),
              lambda row: row['templates'], '{side}x{side} in {width}x{height}'),
    'frame': ('frame size', 'frame', lambda row: int(row['width']) * int(row['height']),
              lambda row: f'{row["width"]}x{row["height"]}', '{templates} template of {side}x{side}'),
}
STYLE = {
    'svg.hashsalt': 'cudaxcorr', 'font.size': 10, 'axes.titlesize': 11, 'axes.linewidth': 0.8,
    'axes.spines.top': False, 'legend.frameon': False, 'lines.markersize': 5, 'lines.linewidth': 1.4,
    **{name: GREY for name in ('text.color', 'axes.edgecolor', 'axes.labelcolor', 'xtick.color', 'ytick.color')},
}


def read(path):
    """(what the first line says of the machine, the rows)."""
    lines = pathlib.Path(path).read_text(encoding='utf-8').splitlines()
    notes = [line.lstrip('# ') for line in lines if line.startswith('#')]
    return notes[0], list(csv.DictReader(line for line in lines if not line.startswith('#')))


def of_sweep(rows, sweep):
    return [row for row in rows if sweep in row['sweeps'].split()]


def draw(axes, rows, sweep):
    title, label, place, name, common = AXES[sweep]
    rows = sorted(of_sweep(rows, sweep), key=place)

    def line(program, column, **style):
        mine = [row for row in rows if row['program'] == program]
        axes.plot([place(row) for row in mine], [float(row[column]) for row in mine], **style)

    for program in (program for program in PROGRAMS if any(row['program'] == program for row in rows)):
        text, colour, marker = PROGRAMS[program]
        line(program, 'stream_ms', label=text, color=colour, marker=marker,
             **({'linewidth': 2.6, 'zorder': 3} if program == OURS else {}))
        if program == OURS:
            line(program, 'latency_ms', label=f'{OURS}, one frame at a time', color=colour, linestyle=':', zorder=3)
    axes.set(title=f'Time against {title}', xlabel=f'{label} ({common.format(**rows[0])})', xscale='log', yscale='log')
    ticks = {place(row): name(row) for row in rows}
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f'{y:g}'))
    axes.grid(which='major', color=GREY, alpha=0.3, linewidth=0.6)


def rate_axis(axes):
    def reciprocal(values):  # matplotlib asks for 0, too
        return 1000 / np.maximum(values, 1e-12)

    rates = axes.secondary_yaxis('right', functions=(reciprocal, reciprocal))
    rates.set_ylabel('frames a second')
    rates.yaxis.set_major_formatter(FuncFormatter(lambda rate, _: f'{rate:,.0f}' if rate >= 1 else f'{rate:g}'))


def save(figure, path, title):
    figure.savefig(path, transparent=True, bbox_inches='tight',
                   metadata={'Title': title, 'Date': None, 'Creator': None})
    pyplot.close(figure)


def all_sweeps(rows, note, path):
    sweeps = [sweep for sweep in AXES if of_sweep(rows, sweep)]
    figure, panels = pyplot.subplots(1, len(sweeps), figsize=(5 * len(sweeps), 4.6), sharey=True, squeeze=False)
    for axes, sweep in zip(panels[0], sweeps):
        draw(axes, rows, sweep)
    panels[0][0].set_ylabel('ms a frame')
    rate_axis(panels[0][-1])
    figure.tight_layout(rect=(0, 0.17, 1, 1))
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc='lower center', ncol=5, bbox_to_anchor=(0.5, 0.05))
    figure.text(0.5, 0.02, note, ha='center', fontsize=8)
    save(figure, path, 'Template matching: time against template size, number of templates and frame size')


def one_sweep(rows, note, path):
    figure, axes = pyplot.subplots(figsize=(8, 4.4))
    draw(axes, rows, 'side')
    axes.set(title='Template matching on 8-bit video', ylabel='ms a frame')
    rate_axis(axes)
    axes.legend(loc='center left', bbox_to_anchor=(1.14, 0.5), labelspacing=0.8)
    figure.text(0.5, -0.04, note, ha='center', fontsize=8)
    save(figure, path, 'Template matching: time against template size')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('csv', help='of compare.py')
    parser.add_argument('--output', default='docs/images', help='a folder; default docs/images')
    options = parser.parse_args()
    note, rows = read(options.csv)
    folder = pathlib.Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **STYLE, 'backend': 'svg'}):
        all_sweeps(rows, note, folder / 'comparison.svg')
        one_sweep(rows, note, folder / 'speed.svg')


if __name__ == '__main__':
    main()
