#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tables of what kernels take, in Markdown, from results of checkcorr --bench --output=csv.

    kernel_tables.py CSV...

For each form and element type: the best variant of each family with each problem, then every variant
of definition-based families. At the end how often each variant is the best one, and which never are.
"""
import argparse
import collections
import csv
import pathlib

FORMS = {'one_to_one': 'One to one', 'one_to_many': 'One to many', 'n_to_mn': 'n to mn', 'n_to_m': 'n to m'}

Row = collections.namedtuple('Row', 'type form case variant step ms share')


def read(paths):
    """(what the files say of themselves, rows of correlate variants)."""
    notes, rows = [], []
    for path in paths:
        lines = pathlib.Path(path).read_text(encoding='utf-8').splitlines()
        notes += [line[1:].strip() for line in lines if line.startswith('#')]
        for row in csv.DictReader(line for line in lines if not line.startswith('#')):
            if row['stage'] == 'correlate' and row['step'] in ('kernel', 'run'):
                rows.append(Row(row['type'], row['form'], row['case'], row['variant'], row['step'],
                                float(row['median_ms']), float(row['share_of_peak'])))
    return list(dict.fromkeys(notes)), rows


def family(variant):
    return variant.split('.')[0]


def is_transform(variant):
    return family(variant).startswith('fft')


def shown(ms):
    return f'{ms:.4f}' if ms < 0.1 else f'{ms:.3f}' if ms < 10 else f'{ms:.1f}'


def markdown(head, lines):
    yield '| ' + ' | '.join(head) + ' |'
    yield '| --- |' + ' ---: |' * (len(head) - 1)
    for line in lines:
        yield '| ' + ' | '.join(line) + ' |'
    yield ''


def order(names):
    """As they come, once each."""
    return list(dict.fromkeys(names))


def best_of_families(rows):
    """A line a problem; the best of each family, in bold the best of all."""
    families = order(family(row.variant) for row in rows)
    lines = []
    for case in order(row.case for row in rows):
        here = [row for row in rows if row.case == case and row.step == 'kernel']
        if not here:
            continue
        run = min((row.ms for row in rows if row.case == case and row.step == 'run'
                   and is_transform(row.variant)), default=None)
        best = min(here, key=lambda row: row.ms)
        direct = min((row for row in here if not is_transform(row.variant)),
                     key=lambda row: row.ms, default=None)
        cells = []
        for name in families:
            mine = min((row.ms for row in here if family(row.variant) == name), default=None)
            cells.append('' if mine is None else f'**{shown(mine)}**' if mine == best.ms else shown(mine))
        lines.append([case, *cells, shown(run) if run else '',
                      f'{direct.variant}{f", {direct.share:.0%}" if direct.share else ""}' if direct else ''])
    return markdown(['problem', *families, 'fft, rights included', 'best by the definition, share of peak'], lines)


def every_variant(rows):
    """One line per variant, one column per problem, ms of a launch."""
    rows = [row for row in rows if row.step == 'kernel']
    cases = order(row.case for row in rows)
    ms = {(row.variant, row.case): row.ms for row in rows}
    return markdown(['variant', *cases],
                    ([name, *(shown(ms[name, case]) if (name, case) in ms else '' for case in cases)]
                     for name in sorted({row.variant for row in rows})))


def wins(rows):
    """How often each variant is the best, of all and of those by the definition."""
    rows = [row for row in rows if row.step == 'kernel']
    first, direct = collections.Counter(), collections.Counter()
    for problem in order((row.type, row.case) for row in rows):
        here = [row for row in rows if (row.type, row.case) == problem]
        first[min(here, key=lambda row: row.ms).variant] += 1
        here = [row for row in here if not is_transform(row.variant)]
        if here:
            direct[min(here, key=lambda row: row.ms).variant] += 1
    names = sorted({row.variant for row in rows}, key=lambda name: (-first[name], -direct[name], name))
    yield from markdown(['variant', 'best', 'best by the definition'],
                        ([name, str(first[name]), str(direct[name])] for name in names
                         if first[name] or direct[name]))
    never = [f'`{name}`' for name in names if not first[name] and not direct[name]]
    yield 'Never the best: ' + (', '.join(never) or 'none') + '.'
    yield ''


def tables(notes, rows):
    yield 'Milliseconds of a launch, median. ' + '; '.join(notes) + '.'
    yield ''
    for form, title in FORMS.items():
        for element in order(row.type for row in rows):
            here = [row for row in rows if row.form == form and row.type == element]
            if not here:
                continue
            yield f'### {title}, {element}'
            yield ''
            yield from best_of_families(here)
            yield f'<details><summary>Every variant, {title.lower()}, {element}</summary>'
            yield ''
            yield from every_variant(here)
            yield '</details>'
            yield ''
    yield '### What each variant wins'
    yield ''
    yield from wins(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('csv', nargs='+')
    print('\n'.join(tables(*read(parser.parse_args().csv))))


if __name__ == '__main__':
    main()
