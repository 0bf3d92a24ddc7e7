# SPDX-License-Identifier: LGPL-2.1-or-later
"""What was measured and what is published, and what follows from it."""
import collections
import csv
import math
import pathlib

from kernel_tables import family, is_transform
from published.problems import Problem, problem_of

FOLDER = pathlib.Path(__file__).resolve().parents[1] / 'results'
PLAN_STEPS = ('prepare', 'rights', 'kernel')  # of a whole computation, what the paper calls fft+plan
BASIC = ('overlap_wise', 'reference')  # the kernel without any optimisation, on a GPU and on the CPU

Published = collections.namedtuple('Published', 'quantity problem value device source')


def rows_of(path):
    """(what a file says of itself, its rows)."""
    lines = pathlib.Path(path).read_text(encoding='utf-8').splitlines()
    return [line.lstrip('# ') for line in lines if line.startswith('#')], \
        csv.DictReader(line for line in lines if not line.startswith('#'))


class Results:
    """`ms`: {problem: {variant: milliseconds, the transforms of all matrices included}}; `plan`: {problem: those of the
    transforms and their plan}."""

    def __init__(self, paths):
        self.notes, self.ms, self.plan, self.backend = [], {}, {}, 'cpu'
        for path in paths:
            notes, rows = rows_of(path)
            self.notes += [note for note in notes if note not in self.notes]
            steps = collections.defaultdict(dict)  # of the whole computations by "fft"
            for row in rows:
                self._add(row, steps)
            self.plan.update({problem: sum(took[step] for step in PLAN_STEPS) for problem, took in steps.items()
                              if 'prepare' in took})
        self.ms = {problem: self.ms[problem] for problem in sorted(self.ms, key=lambda problem: problem.place)}

    def _add(self, row, steps):
        problem = problem_of(row['case'])
        if problem is None or (row['stage'], row['type']) != ('correlate', 'f32'):
            return
        ms, step, name = float(row['median_ms']), row['step'], row['variant']
        transform = is_transform(name)
        self.backend = row['backend']
        if step == 'run' or (step == 'kernel' and not transform):
            self.ms.setdefault(problem, {})[name] = ms
        elif name == 'fft':
            steps[problem][step] = ms

    def rows(self):
        """{form, counts: problems of growing sides}."""
        made = {}
        for problem in self.ms:
            made.setdefault(problem.row, []).append(problem)
        return made

    def best(self, problem, wanted=lambda name: not is_transform(name)):
        """(milliseconds, variant) of the fastest that is wanted, by the definition if not said; None without one."""
        return min(((ms, name) for name, ms in self.ms[problem].items() if wanted(name)), default=None)

    def basic(self, problem):
        """Milliseconds of the basic kernel, or None."""
        return next((self.ms[problem][name] for name in BASIC if name in self.ms[problem]), None)

    def transform(self, problem):
        """Milliseconds of cuFFT, on the CPU of the library's FFT, without the plan, or None."""
        return self.ms[problem].get('fft')

    def families(self, problem):
        """{family: milliseconds of its fastest variant}."""
        made = {}
        for name, ms in self.ms[problem].items():
            made[family(name)] = min(ms, made.get(family(name), math.inf))
        return made

    def speedup(self, problem):
        """Of the best by the definition over the basic kernel, or None."""
        basic, best = self.basic(problem), self.best(problem)
        return basic / best[0] if basic and best else None

    def turning_point(self, row, transform):
        """The side from which `transform` (a function of a problem) is faster than the definition, interpolated between
        the measured ones; None where that does not happen once and for all."""
        points = [(problem.side, math.log(transform(problem) / self.best(problem)[0]))
                  for problem in self.rows().get(row, ()) if transform(problem) and self.best(problem)]
        ahead = [index for index, (_, slower) in enumerate(points) if slower > 0]
        if not points or not ahead or ahead[-1] + 1 == len(points):
            return None
        (side, slower), (next_side, next_slower) = points[ahead[-1]], points[ahead[-1] + 1]
        share = slower / (slower - next_slower)
        return math.exp(math.log(side) + share * math.log(next_side / side))

    def measured(self, quantity, problem):
        """What the published quantity is here, or None."""
        if quantity.endswith('_from'):
            return self.turning_point(problem.row, self.transform if quantity == 'fft_from' else self.plan.get)
        if problem not in self.ms:
            return None
        if quantity == 'speedup':
            return self.speedup(problem)
        if quantity == 'fft_ms':
            return self.transform(problem)
        best = self.best(problem)
        return best and best[0]


def published(path=FOLDER / 'paper-published.csv'):
    """A list of Published; the side of a problem whose side is the quantity is 0."""
    return [Published(row['quantity'], Problem(row['form'], int(row['lefts']), int(row['rights']),
                                               int(row['side'] or 0)),
                      float(row['value']), row['device'], row['source']) for row in rows_of(path)[1]]


def choices(path=FOLDER / 'paper-table1.csv'):
    """{problem: the variant that the paper's table 1 recommends}."""
    return {Problem(row['form'], int(row['lefts']), int(row['rights']), int(row['side'])): row['variant']
            for row in rows_of(path)[1]}
