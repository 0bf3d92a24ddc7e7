# SPDX-License-Identifier: LGPL-2.1-or-later
"""Other ways to compute what match() does, each where its library is on the machine.

A module here has `peers(backend)`, which gives its Peers or raises Missing. Adding one is a module, its
name in MODULES and a line in plot_compare.py.
"""
import dataclasses
import importlib
from collections.abc import Callable

MODULES = ('npp', 'cufft', 'pytorch', 'opencv')


class Missing(Exception):
    """Why a peer is not here."""


@dataclasses.dataclass(frozen=True)
class Peer:
    """`prepare(problem)` does what is done once a template, and gives a function that does what a frame needs,
    from bytes where the device has them to one surface per template: a sequence of arrays over the valid shifts."""
    name: str
    computes: str  # 'scores', or 'products' with the template minus its mean
    backend: str  # where it runs: 'cuda' or 'cpu'
    version: str
    prepare: Callable
    tolerance: float  # of a score, or of products as a share of an exact match's
    unit: float = 1.0  # products of 1 are this in the surface
    captured: bool = False  # its launches go into a CUDA graph, so that Python's time is not measured


def find(backend):
    """(the peers that are here, the reasons of those that are not)."""
    found, missing = [], []
    for module in MODULES:
        try:
            found += importlib.import_module(f'{__name__}.{module}').peers(backend)
        except (Missing, ImportError, OSError, AttributeError) as why:  # the last: no such function
            missing.append(f'{module}: {why}')
    return found, missing


def cuda_torch(backend):
    """PyTorch, which holds the memory and the streams of every peer on the GPU."""
    if backend != 'cuda':
        raise Missing('needs a GPU')
    import torch  # pylint: disable=import-outside-toplevel
    if not torch.cuda.is_available():
        raise Missing('PyTorch here has no CUDA')
    return torch
