# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whether results agree; each function gives a list of sentences that say what is wrong.

Each template was cut out of the frame, so the truth about the best peak is known, and every surface of
scores has to have its best one where match() says, with the same score. Products have no best place that
means something: a sample of them, the one at match()'s place included, is compared with exact integers.
"""
import numpy as np

SAMPLES = 16  # products of each template


def as_array(values):
    """Of a peer's array, which may be on a GPU."""
    return np.asarray(values.cpu() if hasattr(values, 'cpu') else values)


def ours(peaks, problem, least=1):
    """`peaks`: (template, x, y, score) of match(). An exact copy scores exactly 1, with poses at least `least`."""
    if [peak[0] for peak in peaks] != list(range(problem.count)):
        return [f'{len(peaks)} peaks of {problem.count} templates']
    return [f'template {i}: found at {x:.2f}, {y:.2f} with {score}, is at {place[0]}, {place[1]}'
            for (i, x, y, score), place in zip(peaks, problem.places)
            if not (abs(x - place[0]) < 1 and abs(y - place[1]) < 1 and least <= score <= 1)]


def scores(surfaces, problem, tolerance):
    wrong = []
    for i, place in enumerate(problem.places):
        surface = as_array(surfaces[i])
        y, x = np.unravel_index(np.argmax(surface), surface.shape)
        if (x, y) != place or not abs(surface[y, x] - 1) <= tolerance:
            wrong.append(f'template {i}: best score {surface[y, x]} at {x}, {y}, not 1 at {place[0]}, {place[1]}')
    return wrong


def products(surfaces, problem, tolerance, unit):
    random = np.random.default_rng(0)
    height, width = problem.valid
    wrong = []
    for i, place in enumerate(problem.places):
        x = np.append(place[0], random.integers(0, width, SAMPLES - 1))
        y = np.append(place[1], random.integers(0, height, SAMPLES - 1))
        exact = np.array([np.sum(problem.window(*at) * problem.centred[i]) for at in zip(x, y)])
        error = as_array(surfaces[i])[y, x].astype(np.float64) / unit - exact
        if not np.max(np.abs(error)) <= tolerance * exact[0]:
            wrong.append(f'template {i}: products are off by {np.max(np.abs(error)):g}, at the match {exact[0]}')
    return wrong


def peer(result, problem, by):
    """Of the surfaces that a Peer gave."""
    shape = tuple(result[0].shape)
    if shape != problem.valid:
        return [f'a surface of {shape}, not {problem.valid}']
    if by.computes == 'scores':
        return scores(result, problem, by.tolerance)
    return products(result, problem, by.tolerance, by.unit)
