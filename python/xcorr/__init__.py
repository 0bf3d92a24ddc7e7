# SPDX-License-Identifier: LGPL-2.1-or-later
"""Template matching and 2-D cross-correlation, exact for 8-bit images, on CPUs and NVIDIA GPUs.

`match_template`, `matchTemplate`, `correlate2d` and `convolve2d` take the arguments of scikit-image's, OpenCV's and
SciPy's functions of these names and return their results. `Matcher` searches many frames for many templates, at any
angle and size, `MultiMatcher` on several GPUs at once. `FieldMatcher` measures displacement fields.
"""
from . import _xcorr
from ._correlations import convolve2d, correlate2d
from ._devices import devices, max_threads, set_max_threads
from ._field import FIELD_STATUS, VECTOR, FieldMatcher, FieldSettings
from ._functions import match_template, matchTemplate
from ._learn import learn_mask
from ._live_template import LiveTemplate
from ._matcher import PEAK, Matcher
from ._multi_matcher import MultiMatcher
from ._scores import clear_cache
from ._settings import (METHODS, TM_CCOEFF, TM_CCOEFF_NORMED, TM_CCORR, TM_CCORR_NORMED, TM_SQDIFF, TM_SQDIFF_NORMED,
                        Poses, Settings)

__version__: str = _xcorr.version

__all__ = [
    "FIELD_STATUS", "METHODS", "PEAK", "TM_CCOEFF", "TM_CCOEFF_NORMED", "TM_CCORR", "TM_CCORR_NORMED", "TM_SQDIFF",
    "TM_SQDIFF_NORMED", "VECTOR", "FieldMatcher", "FieldSettings", "LiveTemplate", "Matcher", "MultiMatcher",
    "Poses", "Settings", "clear_cache", "convolve2d", "correlate2d", "devices", "learn_mask",
    "matchTemplate", "match_template", "max_threads", "set_max_threads",
]
