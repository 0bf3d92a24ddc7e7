# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tables in Markdown: what is published beside what was measured, and every problem."""
from kernel_tables import markdown, shown
from published.problems import FORMS

QUANTITIES = {'ms': 'best by the definition, ms', 'speedup': 'speedup over the basic kernel',
              'fft_ms': 'cuFFT, ms', 'fft_from': 'side from which cuFFT is faster',
              'plan_from': 'side from which cuFFT with its plan is faster'}


def number(value):
    return '' if value is None else f'{value:.1f}' if value < 20 else f'{value:.0f}'


def beside(results, published):
    """A line for each figure in the paper's and the thesis's text."""
    lines = []
    for each in published:
        if each.source == 'their program':
            continue
        here = results.measured(each.quantity, each.problem)
        form = number if each.quantity != 'ms' else shown
        size = f', {each.problem.side}x{each.problem.side}' if each.problem.side else ''
        lines.append([f'{FORMS[each.problem.form]}, {each.problem.counts}{size}: {QUANTITIES[each.quantity]}',
                      f'{each.value:g} ({each.device}, {each.source})', '-' if here is None else form(here)])
    return markdown(['', 'published', 'here'], lines)


def optional(value):
    return '' if value is None else shown(value)


def every_problem(results, published, choices):
    theirs = {(each.quantity, each.problem): each.value for each in published if each.source == 'their program'}
    lines = []
    for problem, times in results.ms.items():
        best, choice = results.best(problem), choices.get(problem, '')
        fastest = min(times, key=times.get)
        program = [theirs.get((quantity, problem)) for quantity in ('ms', 'fft_ms')]
        lines.append([f'{problem.counts}, {problem.side}', optional(results.basic(problem)), optional(best and best[0]),
                      number(results.speedup(problem)), optional(results.transform(problem)),
                      optional(results.plan.get(problem)), f'{fastest}: {shown(times[fastest])}',
                      f'{choice}: {shown(times[choice])}' if choice in times else choice,
                      ' / '.join(shown(value) for value in program) if all(program) else ''])
    transform = 'cuFFT' if results.backend == 'cuda' else 'FFT'
    return markdown(['problem', 'basic', 'best by the definition', 'times basic', transform, f'{transform} and plan',
                     'fastest of all', "the paper's choice", 'published program: definition / cuFFT'], lines)


def report(results, published, choices):
    yield f'{"; ".join(results.notes)}.'
    yield ''
    yield from beside(results, published)
    yield 'Milliseconds:'
    yield ''
    yield from every_problem(results, published, choices)
