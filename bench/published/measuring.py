# SPDX-License-Identifier: LGPL-2.1-or-later
"""The paper's problems, timed by checkcorr --bench.

Every variant on the smaller problems, and on the larger ones of each family the variant that was the best one at the
largest of the smaller problems of that form: a kernel that has no chance takes seconds there.
"""
import subprocess

from kernel_tables import family
from published.problems import case_of, problem_of
from published.results import BASIC, Results


class Checkcorr:
    """Runs it on one backend; its CSV goes to the file."""

    def __init__(self, program, backend, seconds, path):
        self.command = [str(program), '--bench', f'--backend={backend}']
        self.backend, self.seconds, self.path = backend, seconds, path
        self.said = set()  # heads that each run repeats
        path.write_text('', encoding='utf-8')

    def _started(self, *arguments):
        try:
            return subprocess.Popen([*self.command, *arguments], text=True, stdout=subprocess.PIPE)
        except OSError as error:
            raise SystemExit(f'{self.command[0]}: {error.strerror}') from error

    def _lines(self, *arguments):
        with self._started(*arguments) as run:
            yield from run.stdout
        if run.returncode:
            raise SystemExit(f'{self.command[0]} {" ".join(arguments)}: exit status {run.returncode}')

    def problems(self):
        cases = {line.strip().split('/')[-1] for line in self._lines('--list', '--filter=*/correlate/*/f32/paper-*')}
        return sorted(map(problem_of, cases), key=lambda problem: problem.place)

    def time(self, wanted, level='run'):
        """wanted: pairs of a variant, or a pattern, and a problem."""
        globs = [f'{self.backend}/correlate/{variant}/f32/{case_of(problem)}' for variant, problem in wanted]
        if not globs:
            return
        with self.path.open('a', encoding='utf-8') as file:
            for line in self._lines(f'--filter={",".join(globs)}', f'--level={level}', f'--seconds={self.seconds}',
                                    '--output=csv'):
                if line.startswith(('#', 'backend,')):
                    if line in self.said:
                        continue
                    self.said.add(line)
                file.write(line)
                file.flush()


def contenders(results, problem, smaller):
    """Of each family the variant that was the best one at the largest smaller problem of that form."""
    same = [other for other in smaller if other.form == problem.form and other in results.ms]
    if not same:
        return ['*']
    times = results.ms[max(same, key=lambda other: other.products)]
    best = {}
    for name in sorted(times, key=times.get):
        best.setdefault(family(name), name)
    return list(best.values())


def measure(checkcorr, every, most):
    """every: products of a problem up to which every variant is timed; most: those beyond which none is."""
    problems = [problem for problem in checkcorr.problems() if problem.products <= most]
    small = [problem for problem in problems if problem.products <= every]
    basics = [(name, problem) for name in BASIC for problem in small]
    checkcorr.time([('*', problem) for problem in small] + basics)
    checkcorr.time([('fft', problem) for problem in small], 'steps')
    results = Results([checkcorr.path])
    checkcorr.time([(name, problem) for problem in problems if problem not in small
                    for name in contenders(results, problem, small)])
