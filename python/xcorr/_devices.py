# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where work runs: ``"cpu"``, ``"cuda"`` (any GPU), ``"cuda:1"`` (that GPU) or ``"auto"``."""
from __future__ import annotations

import re

from . import _cufft, _xcorr

_opened: dict[str, _xcorr.Device] = {}


def name_of(device: _xcorr.Device) -> str:
    return f"cuda:{device.ordinal}" if device.is_gpu else "cpu"


def _open(name: str) -> _xcorr.Device:
    if name == "cpu":
        return _xcorr.open_device(False)
    match = re.fullmatch(r"cuda(?::(\d+))?", str(name))
    if not match:
        raise ValueError(f"no such device: {name!r}; there are 'cpu', 'cuda', 'cuda:0', 'cuda:1', ... and 'auto'")
    _cufft.load()
    return _xcorr.open_device(True, int(match[1] or -1))


def open_device(name: str) -> _xcorr.Device:
    """The device of that name, opened once. ``"auto"``: a GPU, or the CPU where there is none."""
    if name not in _opened:
        if name == "auto":
            try:
                _opened[name] = open_device("cuda")
            except RuntimeError:
                _opened[name] = open_device("cpu")
        else:
            _opened[name] = _open(name)
    return _opened[name]


def devices() -> dict[str, str]:
    """The devices of this machine.

    Returns
    -------
    dict
        From names, as arguments ``device`` have them, to what the devices are called: ``"cpu"``, and
        ``"cuda:0"``, ``"cuda:1"``, ... for the GPUs that can be used.
    """
    found = {"cpu": open_device("cpu").name}
    ordinal = 0
    while True:
        name = f"cuda:{ordinal}"
        try:
            found[name] = open_device(name).name
        except RuntimeError:
            return found
        ordinal += 1


def set_max_threads(count: int) -> None:
    """Limit the threads on which this process works on the CPU.

    Parameters
    ----------
    count : int
        The most threads of one call, the calling one included. 0, the default: one for each core that the
        process may use.
    """
    _xcorr.set_max_threads(count)


def max_threads() -> int:
    """The limit of :func:`set_max_threads`; 0: none."""
    return _xcorr.max_threads()
