# SPDX-License-Identifier: LGPL-2.1-or-later
"""The search of many frames by several devices at once."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from . import _xcorr
from ._devices import name_of, open_device
from ._matcher import Colours, MatcherBase
from ._settings import Settings, SettingsChanges, changed

if TYPE_CHECKING:
    from typing_extensions import Unpack


class MultiMatcher(MatcherBase[_xcorr.MultiMatcher]):
    """A `Matcher` over several GPUs, for banks that keep one of them busy.

    The templates are shared out by their pixels, each device gets the frame once, and the peaks are merged: for uint8
    and uint16 they are those of one `Matcher`, bit for bit.

    Parameters
    ----------
    templates, masks : sequence, optional
        See `set_templates`. Live templates are of the first device, which searches all of them.
    devices : sequence of str
        Such as ``("cuda:0", "cuda:1")``; each GPU once.
    colours, settings, **changes
        As those of `Matcher`.

    Frames may be in host memory, or CuPy's or PyTorch's on the first device; `match` waits for their stream.

    Examples
    --------
    >>> matcher = xcorr.MultiMatcher(parts, devices=("cuda:0", "cuda:1"), threshold=0.8)
    >>> peaks = matcher.match(frame)
    """

    def __init__(self, templates: Sequence[Any] = (), masks: Sequence[Any] | None = None, *, devices: Sequence[str],
                 colours: Colours = "", settings: Settings | None = None, **changes: Unpack[SettingsChanges]) -> None:
        if isinstance(devices, str):
            raise TypeError("devices are a sequence of names")
        opened = [open_device(name) for name in devices]
        matcher = _xcorr.MultiMatcher(opened)  # refuses none
        self._devices = opened
        super().__init__(matcher, opened[0], templates, masks, colours,
                         changed(Settings, settings, changes, ("colours", "devices", "masks", "settings")))

    @property
    def devices(self) -> tuple[str, ...]:
        """Where it works: "cuda:0", "cuda:1", ..."""
        return tuple(name_of(device) for device in self._devices)

    def _frame(self, frame: Any) -> tuple[Any, _xcorr.Image]:
        place, image = super()._frame(frame)
        place.wait()
        return place, image

    def enqueue(self, frame: Any) -> None:
        """Begin to match a frame, which must not be changed until `collect` has returned."""
        _, image = self._frame(frame)
        self._matcher.enqueue(image)

    def __reduce__(self) -> Any:
        """Pickles as what it was made of. Live templates do not."""
        return _rebuilt, (self._templates, self._masks, self.devices, self._colours, self._settings)


def _rebuilt(templates: Any, masks: Any, devices: Sequence[str], colours: Colours, settings: Settings) -> MultiMatcher:
    return MultiMatcher(templates, masks, devices=devices, colours=colours, settings=settings)
