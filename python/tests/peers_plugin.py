# SPDX-License-Identifier: LGPL-2.1-or-later
"""A plugin for pytest: the tests of SciPy and scikit-image get xcorr's functions in place of their own."""
import scipy.signal
import skimage.feature

import xcorr

STAND_INS = {scipy.signal.convolve2d: xcorr.convolve2d, scipy.signal.correlate2d: xcorr.correlate2d,
             skimage.feature.match_template: xcorr.match_template}
calls = {function.__name__: 0 for function in STAND_INS.values()}


def counted(function):
    def call(*arguments, **more):
        calls[function.__name__] += 1
        return function(*arguments, **more)
    return call


STAND_INS = {own: counted(function) for own, function in STAND_INS.items()}


def replaced(names):
    """In a namespace or the parameters of a test."""
    for name, value in list(names.items()):
        if callable(value) and getattr(value, "__hash__", None) and value in STAND_INS:
            names[name] = STAND_INS[value]


def pytest_collection_modifyitems(items):
    """Once the tests know what SciPy says of its functions, such as the arrays that they take."""
    for item in items:
        replaced(vars(item.module))
        if hasattr(item, "callspec"):
            replaced(item.callspec.params)
    replaced(vars(scipy.signal))


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"calls: {calls}")
