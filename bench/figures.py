# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the project's figures have in common.

Grey and colours are of middle lightness on no background, so that they are legible on light and on dark pages. The
same data give the same files.
"""
import matplotlib

matplotlib.use('svg')
# pylint: disable=wrong-import-position
from matplotlib import pyplot  # noqa: E402

GREY = '#768390'
STYLE = {
    'svg.hashsalt': 'cudaxcorr', 'svg.fonttype': 'none', 'figure.dpi': 72,  # an SVG's points
    'font.sans-serif': ['DejaVu Sans', 'Verdana', 'sans-serif'], 'font.size': 10,
    'axes.titlesize': 10, 'axes.titlelocation': 'left', 'axes.linewidth': 0.8, 'axes.spines.top': False,
    'axes.spines.right': False, 'lines.markersize': 4.5, 'lines.linewidth': 1.4,
    **{name: GREY for name in ('text.color', 'axes.edgecolor', 'axes.labelcolor', 'xtick.color', 'ytick.color')},
}


def styled():
    """A context in which figures are made."""
    return matplotlib.rc_context({**matplotlib.rcParamsDefault, **STYLE, 'backend': 'svg'})


def save(figure, path, title):
    figure.savefig(path, transparent=True, metadata={'Title': title, 'Date': None, 'Creator': None})
    pyplot.close(figure)
