#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Figures of what compare.py measured: plot_compare.py CSV --output docs/images/

    comparison.svg   time against the template's size, the number of templates, the frame's size
    speed.svg        the first of the three, with fewer programs

Each curve has its name at its end. Matches have one for each content of the frames, the first of the file in full.
"""
import argparse
import csv
import pathlib

from matplotlib import pyplot
from matplotlib.ticker import FuncFormatter, NullLocator

from figures import GREY, save, styled

OURS = 'cudaxcorr'
PROGRAMS = {  # program: (its name and what it computes, colour, marker)
    OURS: ('cudaxcorr: scores and peaks', '#e8590c', 'o'),
    'npp-normlevel': ('NPP NormLevel: scores', '#2f9e44', 's'),
    'npp-norm': ('NPP Norm: scores', '#74940f', 'D'),
    'cufft': ('cuFFT: products', '#2b80d8', '^'),
    'torch-fft': ('PyTorch FFT: products', '#15929f', 'v'),
    'torch-conv-fp32': ('PyTorch conv2d: products', '#9a62dd', '<'),
    'torch-conv-fp16': ('PyTorch conv2d fp16: products', '#d6498b', '>'),
    'opencv': ('OpenCV on the CPU: scores', '#8a7f76', 'x'),
}
CONTENTS = {  # of ours: (its name, its line)
    'photographs': ('photographs', {'linewidth': 2.6, 'zorder': 3}),
    'video': ('an enlarged photograph', {'linewidth': 1.2, 'linestyle': '--', 'zorder': 3}),
    'noise': ('noise', {'linewidth': 1.2, 'linestyle': ':', 'zorder': 3}),
}
FEWER = [OURS, 'npp-normlevel', 'cufft', 'torch-conv-fp32', 'opencv']
SCOPE = ('Scores: no search for peaks. Products: neither normalised nor searched. '
         'All in device memory but OpenCV.\nFrames show {}, where nothing else is named.')
AXES = {  # sweep: (the axis, a row's place on it and name there, what all its rows have)
    'side': ('side of the template, pixels', lambda row: int(row['side']), lambda row: row['side'],
             '{templates} template in a frame of {width}x{height}'),
    'count': ('number of templates', lambda row: int(row['templates']), lambda row: row['templates'],
              'templates of {side}x{side} in a frame of {width}x{height}'),
    'frame': ('size of the frame', lambda row: int(row['width']) * int(row['height']),
              lambda row: f'{row["width"]}x{row["height"]}', '{templates} template of {side}x{side}'),
}
LABEL_HEIGHT = 12.5  # points


def read(path):
    """(what the first line says of the machine, the rows)."""
    lines = pathlib.Path(path).read_text(encoding='utf-8').splitlines()
    notes = [line.lstrip('# ') for line in lines if line.startswith('#')]
    return notes[0], list(csv.DictReader(line for line in lines if not line.startswith('#')))


def spread(places, gap):
    """Places in ascending order, moved as little as possible until none is nearer than gap to the next."""
    groups = []  # [mean of the places, each less the gaps below it; how many]
    for index, place in enumerate(places):
        groups.append([place - index * gap, 1])
        while len(groups) > 1 and groups[-2][0] > groups[-1][0]:
            mean, count = groups.pop()
            below = groups[-1]
            below[:] = (below[0] * below[1] + mean * count) / (below[1] + count), below[1] + count
    moved = [mean for mean, count in groups for _ in range(count)]
    return [mean + index * gap for index, mean in enumerate(moved)]


def name_curves(axes, ends):
    """ends: {(program, content): its last point}. Writes each name right of it, apart from the others."""
    pixels = {curve: axes.transData.transform(end) for curve, end in ends.items()}
    order = sorted(ends, key=lambda curve: pixels[curve][1])
    heights = spread([pixels[curve][1] for curve in order], LABEL_HEIGHT)
    first = {program: content for program, content in reversed(ends)}
    for curve, height in zip(order, heights):
        program, content = curve
        text, colour, _ = PROGRAMS[program]
        if content != first[program]:
            text = f'{program} in {CONTENTS[content][0]}'
        x, y = pixels[curve]
        axes.annotate(text, ends[curve], (x + 20, height), textcoords='figure pixels', color=colour, va='center',
                      fontweight='bold' if curve == (OURS, first[OURS]) else 'normal',
                      arrowprops={'arrowstyle': '-', 'color': colour, 'linewidth': 0.6, 'relpos': (0, 0.5),
                                  'shrinkA': 0, 'shrinkB': 4})


def draw(axes, rows, sweep, programs):
    label, place, name, common = AXES[sweep]
    rows = sorted((row for row in rows if sweep in row['sweeps'].split()), key=place)
    axes.set(title=common.format(**rows[0]), xlabel=label, ylabel='milliseconds a frame', xscale='log', yscale='log')
    ends = {}
    for program, content in ((program, content) for program in programs for content in CONTENTS):
        points = [(place(row), float(row['stream_ms'])) for row in rows
                  if (row['program'], row['content']) == (program, content)]
        if points:
            _, colour, marker = PROGRAMS[program]
            axes.plot(*zip(*points), color=colour, marker=marker, **(CONTENTS[content][1] if program == OURS else {}))
            ends[program, content] = points[-1]
    ticks = {place(row): name(row) for row in rows}
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f'{y:g}'))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.grid(which='major', color=GREY, alpha=0.3, linewidth=0.6)
    name_curves(axes, ends)


def figure_of(rows, note, sweeps, programs, path):
    sweeps = [sweep for sweep in sweeps if any(sweep in row['sweeps'].split() for row in rows)]
    height = 3.6 * len(sweeps) + 0.9  # inches
    figure, panels = pyplot.subplots(len(sweeps), 1, figsize=(8.6, height), squeeze=False)
    figure.subplots_adjust(left=0.09, right=0.69, top=1 - 0.55 / height, bottom=1.15 / height, hspace=0.42)
    figure.suptitle('Time to match templates in 8-bit video', x=0.09, y=1 - 0.1 / height, ha='left', va='top',
                    fontsize=12, fontweight='bold')
    for axes, sweep in zip(panels[:, 0], sweeps):
        draw(axes, rows, sweep, programs)
    shown = SCOPE.format(CONTENTS[rows[0]['content']][0])
    figure.text(0.09, 0.08 / height, f'{shown}\n{note}', fontsize=8.5, va='bottom', linespacing=1.4)
    save(figure, path, 'Time to match templates')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('csv', help='of compare.py')
    parser.add_argument('--output', default='docs/images', help='a folder; default docs/images')
    options = parser.parse_args()
    note, rows = read(options.csv)
    folder = pathlib.Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    with styled():
        figure_of(rows, note, AXES, PROGRAMS, folder / 'comparison.svg')
        figure_of(rows, note, ['side'], FEWER, folder / 'speed.svg')


if __name__ == '__main__':
    main()
