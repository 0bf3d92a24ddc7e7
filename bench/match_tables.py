#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tables of docs/performance/match.md and of README.md from a result of matches.py.

    match_tables.py [--write] [bench/results/h200-match.csv]

Prints both; with --write they replace those of the pages.
"""
import argparse
import csv
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / 'bench/results/h200-match.csv'
CONTENTS = {'photographs': 'photographs', 'video': 'enlarged photograph', 'noise': 'random bytes'}
MARKS = '<!-- bench/match_tables.py -->\n', '<!-- end -->'
# What a cell says, and the sides whose templates have a row.
PAGES = {'docs/performance/match.md': ('{latency_ms} / {stream_ms}', (16, 32, 64, 128)),
         'README.md': ('{stream_ms}', (16, 64))}


def name_of(row):
    count = 'one' if row['templates'] == '1' else row['templates']
    return f'{count} of {row["side"]}x{row["side"]}' + (', by FFT' if row['kernel'] == 'fft' else '')


def table_of(path, cell, sides):
    with open(path, newline='', encoding='utf-8') as file:
        measured = [row for row in csv.DictReader(line for line in file if not line.startswith('#'))
                    if row['mask'] == 'none' and (row['width'], row['height']) == ('1920', '1080')
                    and int(row['side']) in sides]
    cells = {}
    for row in sorted(measured, key=lambda row: (int(row['templates']), int(row['side']))):
        times = {key: f'{float(row[key]):.3f}' for key in ('latency_ms', 'stream_ms')}
        cells.setdefault(name_of(row), {})[row['content']] = cell.format(**times)
    lines = [['templates', *CONTENTS.values()], ['---'] * (1 + len(CONTENTS))]
    lines += [[name, *(each[content] for content in CONTENTS)] for name, each in cells.items()]
    return ''.join(f'| {" | ".join(line)} |\n' for line in lines)


def replaced(text, table):
    """A page with that table between the marks."""
    begin = text.index(MARKS[0]) + len(MARKS[0])
    return text[:begin] + table + text[text.index(MARKS[1], begin):]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('csv', nargs='?', default=RESULTS, type=pathlib.Path)
    parser.add_argument('--write', action='store_true')
    options = parser.parse_args()
    for page, how in PAGES.items():
        table = table_of(options.csv, *how)
        print(page, table, sep='\n')
        if options.write:
            path = ROOT / page
            path.write_text(replaced(path.read_text(encoding='utf-8'), table), encoding='utf-8')


if __name__ == '__main__':
    main()
