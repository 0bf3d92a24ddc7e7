# SPDX-License-Identifier: LGPL-2.1-or-later
"""The paper's problems: square matrices of one size, whole output, float32. bench/checkcorr/bench_cases.cpp has them
under names such as paper-1to32-64."""
import collections
import re

FORMS = {'one_to_one': 'one to one', 'one_to_many': 'one to many', 'n_to_mn': 'n to mn', 'n_to_m': 'n to m'}


class Problem(collections.namedtuple('Problem', 'form lefts rights side')):
    """rights: of n_to_mn those of each left."""

    @property
    def products(self):
        """Of pixels that exist, over all shifts of all pairs."""
        pairs = self.rights if self.form == 'one_to_many' else self.lefts * self.rights
        return pairs * self.side ** 4

    @property
    def counts(self):
        """Such as "86 to 86 x 50"."""
        return f'{self.lefts} to {self.lefts} x {self.rights}' if self.form == 'n_to_mn' else \
            f'{self.lefts} to {self.rights}'

    @property
    def row(self):
        """What has the same but for the side."""
        return self[:3]

    @property
    def place(self):
        """Sorts by form, counts and side."""
        return list(FORMS).index(self.form), *self[1:]


def problem_of(case):
    """Of the name of a case, or None where it is not the paper's."""
    match = re.fullmatch(r'paper-(\d+)(to|by)(\d+)-(\d+)', case)
    if not match:
        return None
    lefts, rights, side = (int(match[i]) for i in (1, 3, 4))
    form = 'n_to_mn' if match[2] == 'by' else 'n_to_m' if lefts > 1 else 'one_to_many' if rights > 1 else 'one_to_one'
    return Problem(form, lefts, rights, side)


def case_of(problem):
    return f'paper-{problem.lefts}{"by" if problem.form == "n_to_mn" else "to"}{problem.rights}-{problem.side}'
