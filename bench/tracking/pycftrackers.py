# SPDX-License-Identifier: LGPL-2.1-or-later
"""The correlation filters of pyCFTrackers (github.com/fengyang95), where a checkout of it is on PYTHONPATH.

It is of 2019, and so it is to be NumPy 1.23, SciPy 1.10 and OpenCV 4.8 or older. Its only compiled part, which has
gradients, is to be built for this Python as it says. What it imports and does not need for these trackers is stood in
for.
"""
import importlib
import importlib.util
import sys
import types
from unittest import mock

from .peer import Peer
from .sequences import Unusable

FOUND = importlib.util.find_spec('cftracker')
if not FOUND:
    raise ImportError('pyCFTrackers is not on PYTHONPATH')
# Its module, class and configuration, if it wants one.
TRACKERS = {
    'eco_hc': ('cftracker.eco', 'ECO', 'lib.eco.config.otb_hc_config', 'OTBHCConfig'),
    'strcf': ('cftracker.strcf', 'STRCF', 'cftracker.config.strdcf_hc_config', 'STRDCFHCConfig'),
    'staple': ('cftracker.staple', 'Staple', 'cftracker.config.staple_config', 'StapleConfig'),
}
VERSION = 'pyCFTrackers'
# Of features that are not used here, and plots.
UNUSED = ('mxnet', 'mxnet.gluon', 'mxnet.gluon.model_zoo', 'mxnet.gluon.nn', 'matplotlib', 'matplotlib.pyplot')


def prepare():
    """What its modules import and ask for."""
    for name in UNUSED:
        sys.modules.setdefault(name, mock.MagicMock())
    # It would compute on its author's third GPU.
    on_cpu = types.SimpleNamespace(use_gpu=False, gpu_id=0)
    sys.modules['lib.eco.config.gpu_config'] = types.SimpleNamespace(gpu_config=on_cpu)


def tracker(name):
    """One of TRACKERS."""
    prepare()
    module, kind, settings, config = TRACKERS[name]
    try:
        make = getattr(importlib.import_module(module), kind)
        config = getattr(importlib.import_module(settings), config)
    except ImportError as why:
        raise Unusable(f'--peer={name}: {why}') from None
    return Peer(name, lambda: make(config=config()), VERSION)
