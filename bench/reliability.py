# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whether what is said to be right with a probability of p is right as often."""
import numpy as np

BINS = 10


def odds(confidence):
    """Their logarithm."""
    confidence = np.clip(confidence, 1e-6, 1 - 1e-6)
    return np.log(confidence / (1 - confidence))


def regression(right, *columns):
    """The weight of each column, and the offset, of the logistic function that makes what was seen the most likely, by
    Newton's method."""
    rows = np.stack([*columns, np.ones(len(right))], axis=1)
    weights = np.zeros(len(columns) + 1)
    for _ in range(50):
        share = 1 / (1 + np.exp(-rows @ weights))
        hessian = (rows * (share * (1 - share))[:, None]).T @ rows
        weights += np.linalg.solve(hessian, rows.T @ (right - share))
    return weights


def bins(said, right):
    """For each that has places: how many, their mean confidence, the share that is right."""
    which = np.minimum((said * BINS).astype(int), BINS - 1)
    for index in np.unique(which):
        here = which == index
        yield here.sum(), said[here].mean(), right[here].mean()
