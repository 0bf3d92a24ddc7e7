# SPDX-License-Identifier: LGPL-2.1-or-later
"""Templates that adapt to what they find."""
from __future__ import annotations

from typing import Any

import numpy as np

from . import _xcorr
from ._arrays import host_image, place_of
from ._elements import MATCHED
from ._devices import name_of, open_device


class LiveTemplate:
    """A template whose pixels may change, shared by the matchers that use it.

    Parameters
    ----------
    pixels : array of shape (height, width), uint8, uint16 or float32
    device : str
        That of its matchers.
    """

    def __init__(self, pixels: Any, device: str = "auto") -> None:
        self._device = open_device(device)
        self._live = _xcorr.LiveTemplate(self._device, host_image(pixels, "pixels", MATCHED))

    def blend(self, frame: Any, x: int, y: int, weight: float) -> None:
        """Move each pixel towards the one of a frame: ``(1 - weight) * template + weight * patch``.

        Parameters
        ----------
        frame : array of the template's type
        x, y : int
            Where the patch, of the template's size, has its upper left corner in the frame.
        weight : float
            0 to 1. The average is kept in float32; for uint8 and uint16 the template is that average, rounded.
        """
        place = place_of(frame, "frame", None)
        if place.device.is_gpu and place.device.ordinal != self._device.ordinal:
            raise ValueError(f"the frame is on {name_of(place.device)}, the template on {name_of(self._device)}")
        with place.current():
            self._live.blend(place.image(frame, "frame", MATCHED), x, y, weight, place.stream)

    def __repr__(self) -> str:
        height, width = self.read().shape
        return f"<xcorr.LiveTemplate: {width}x{height}, device={name_of(self._device)!r}, version={self.version}>"

    def read(self) -> np.ndarray:
        """A copy of the pixels as they are now."""
        return self._live.read()

    @property
    def version(self) -> int:
        """How often it was blended."""
        return self._live.version
