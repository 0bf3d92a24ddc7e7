# SPDX-License-Identifier: LGPL-2.1-or-later
"""The paper's figures, of what was measured here.

    paper-times      time against the side of a matrix, a panel for each form
    paper-speedup    the best by the definition over the basic kernel, with the published figures
    paper-families   the best of each family over the basic kernel
    paper-steps      the same for one problem of each form, as bars: what each step of optimisation gives
"""
from matplotlib import pyplot
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

from figures import GREY, save, styled
from kernel_tables import is_transform
from published.problems import FORMS

ROWS = ('#e8590c', '#2b80d8', '#2f9e44', '#9a62dd', '#d6498b', '#8a7f76')  # counts of a form, in their order
# Families in the order of the steps that lead to them: the basic kernel first, the library's own last.
STEPS = {'overlap_wise': GREY, 'reference': GREY, 'warp_shuffle': '#8a7f76', 'split_row': '#2b80d8',
         'grouped_overlap': '#15929f', 'multi_matrix_right': '#2f9e44', 'multi_matrix_both': '#74940f',
         'warp_per_overlap': '#9a62dd', 'warp_per_overlap_shared': '#b197fc', 'block_per_overlap': '#d6498b',
         'register_tile': '#e8590c', 'tensor_core_split': '#c92a2a', 'direct': '#e8590c', 'fft': '#495fd0',
         'fft_shared': '#f08c00'}


def panels(width, height):
    figure, grid = pyplot.subplots(2, 2, figsize=(width, height), layout='constrained')
    return figure, dict(zip(FORMS, grid.flat))


def scaled(axes, form, sides, unit, yscale='log'):
    axes.set(title=FORMS[form], xlabel='side of a matrix, pixels', ylabel=unit, xscale='log', yscale=yscale)
    axes.set_xticks(sorted(set(sides)), [str(side) for side in sorted(set(sides))], fontsize=8)
    axes.xaxis.set_minor_locator(NullLocator())
    plain(axes.yaxis)
    axes.grid(color=GREY, alpha=0.3, linewidth=0.6)


def plain(axis):
    """Numbers without powers of ten."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f'{value:g}'))
    axis.set_minor_formatter(NullFormatter())


def curve(axes, problems, value, **style):
    """Through the problems that have a value."""
    points = [(problem.side, value(problem)) for problem in problems if value(problem)]
    if points:
        axes.plot(*zip(*points), **style)


def rows_of_form(results, form):
    return {row: problems for row, problems in results.rows().items() if row[0] == form}


def key(place, entries, **where):
    """A legend: {label: style}."""
    place.legend([Line2D([], [], **style) for style in entries.values()], list(entries), frameon=False, fontsize=7.5,
                 **where)


def times(results, published):
    figure, grid = panels(9.2, 7.6)
    transform = 'cuFFT' if results.backend == 'cuda' else 'FFT'
    for form, axes in grid.items():
        entries, sides = {}, []
        for colour, (row, problems) in zip(ROWS, rows_of_form(results, form).items()):
            sides += [problem.side for problem in problems]
            curve(axes, problems, lambda problem: results.best(problem) and results.best(problem)[0], color=colour,
                  marker='o')
            curve(axes, problems, results.transform, color=colour, linestyle='--')
            curve(axes, problems, results.plan.get, color=colour, linestyle=':')
            entries[problems[0].counts] = {'color': colour, 'marker': 'o'}
            for marker, theirs in (('x', True), ('*', False)):
                points = [(each.problem.side, each.value) for each in published if each.quantity == 'ms'
                          and each.problem.row == row and (each.source == 'their program') == theirs]
                if points:
                    axes.plot(*zip(*points), color=colour, marker=marker, linestyle='', markersize=8)
        entries.update({f'{transform}': {'color': GREY, 'linestyle': '--'},
                        f'{transform} with its plan': {'color': GREY, 'linestyle': ':'},
                        'published program, H200': {'color': GREY, 'marker': 'x', 'linestyle': ''},
                        'published, A100 and V100': {'color': GREY, 'marker': '*', 'linestyle': ''}})
        if not any(results.plan.get(problem) for problem in results.ms):
            del entries[f'{transform} with its plan']
        scaled(axes, form, sides, 'ms')
        key(axes, entries)
    return figure, 'Time against the side of a matrix'


def speedup(results, published):
    figure, grid = panels(9.2, 6.8)
    for form, axes in grid.items():
        entries, sides = {}, []
        for colour, (row, problems) in zip(ROWS, rows_of_form(results, form).items()):
            sides += [problem.side for problem in problems]
            curve(axes, problems, results.speedup, color=colour, marker='o')
            entries[problems[0].counts] = {'color': colour, 'marker': 'o'}
            for each in published:
                if each.quantity == 'speedup' and each.problem.row == row:
                    axes.plot(each.problem.side, each.value, color=colour, marker='*', linestyle='', markersize=9)
                    entries['published'] = {'color': GREY, 'marker': '*', 'linestyle': '', 'markersize': 9}
                    sides.append(each.problem.side)
        scaled(axes, form, sides, 'times the basic kernel', 'linear')
        axes.set_ylim(0)
        key(axes, entries)
    return figure, 'Speed of the best by the definition, in that of the basic kernel'


def over_basic(results, name):
    def ratio(problem):
        basic, ms = results.basic(problem), results.families(problem).get(name)
        return basic and ms and basic / ms
    return ratio


def largest_row(results, form):
    """The problems of the counts that were measured with the most sides; of these the largest counts."""
    return max(rows_of_form(results, form).values(), key=lambda problems: (len(problems), problems[0].place),
               default=[])


def families(results, _):
    figure, grid = panels(9.2, 7.6)
    entries = {}
    for form, axes in grid.items():
        problems = largest_row(results, form)
        for name, colour in STEPS.items():
            if any(over_basic(results, name)(problem) for problem in problems):
                style = {'color': colour, 'linestyle': '--' if is_transform(name) else '-'}
                curve(axes, problems, over_basic(results, name), marker='.', **style)
                entries[name] = style
        scaled(axes, form, [problem.side for problem in problems], 'times the basic kernel')
        if problems:
            axes.set_title(f'{FORMS[form]}: {problems[0].counts}')
    key(figure, {name: entries[name] for name in STEPS if name in entries}, loc='outside lower center', ncols=6)
    return figure, 'The best of each family, in the speed of the basic kernel'


def steps(results, _):
    figure, grid = panels(9.2, 6.8)
    for form, axes in grid.items():
        problems = [problem for problem in largest_row(results, form) if results.basic(problem)]
        if not problems:
            axes.set_axis_off()
            continue
        problem = problems[len(problems) // 2]
        bars = {name: results.basic(problem) / ms for name, ms in results.families(problem).items() if name in STEPS}
        names = [name for name in STEPS if name in bars][::-1]
        axes.barh(names, [bars[name] for name in names], color=[STEPS[name] for name in names], height=0.7)
        for place, name in enumerate(names):
            axes.text(bars[name], place, f' {bars[name]:.2g}', va='center', fontsize=8)
        axes.set(title=f'{FORMS[form]}: {problem.counts}, {problem.side}x{problem.side}', xscale='log',
                 xlabel='times the basic kernel')
        plain(axes.xaxis)
    return figure, 'What each step of optimisation gives'


FIGURES = {'paper-times': times, 'paper-speedup': speedup, 'paper-families': families, 'paper-steps': steps}


def draw(results, published, folder, ending):
    """Writes all of them and returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in FIGURES.items():
        with styled():
            figure, title = make(results, published)
            save(figure, folder / f'{name}.{ending}', title)
        yield folder / f'{name}.{ending}'
