# SPDX-License-Identifier: LGPL-2.1-or-later
"""The search of many frames for a bank of templates."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, Sequence, TypeVar

import numpy as np

from . import _xcorr
from ._arrays import Host, host_array, host_image, kind_of, place_of
from ._devices import name_of, open_device
from ._elements import MASKS, MATCHED, finite
from ._live_template import LiveTemplate
from ._settings import Settings, SettingsChanges, changed, check_settings
from ._typing import overload

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: What the channels of frames are.
Colours = Literal["", "rgb", "bgr"]


def _dtype(fields: Any) -> np.dtype[Any]:
    formats = [_dtype(each) if isinstance(each, dict) else np.dtype(each) for each in fields["formats"]]
    described: Any = {**fields, "formats": formats}
    made: np.dtype[Any] = np.dtype(described)
    return made


#: A peak: the fields ``template_index``, ``x``, ``y`` (of the upper left corner), ``width``, ``height``, ``score``,
#: ``closeness`` (the highest threshold that the score reaches) and ``pose`` with ``center_x``, ``center_y``,
#: ``angle``, ``scale``, ``width``, ``height``; ``inverted``: whether the match has the opposite contrast;
#: ``confidence``: the probability that the place is right, -1 unless `Settings.min_confidence` asks for it.
PEAK = _dtype(_xcorr.peak_fields)


def described(matcher: Any, templates: Sequence[Any], settings: Settings) -> str:
    """What a matcher's repr says: its bank, where it works, and the settings that are not the default ones."""
    sizes = [each.read().shape if isinstance(each, LiveTemplate) else each.shape for each in templates]
    shown = ", ".join(f"{shape[1]}x{shape[0]}" for shape in sizes[:4]) + (", ..." if len(sizes) > 4 else "")
    where = {name: getattr(matcher, name) for name in ("device", "devices") if hasattr(matcher, name)}
    usual = vars(Settings())
    words = [f"{name}={value!r}" for name, value in {**where, **vars(settings)}.items() if value != usual.get(name)]
    count = f"{len(sizes)} template{'s' * (len(sizes) != 1)}" + (f" of {shown}" if sizes else "")
    return f"<xcorr.{type(matcher).__name__}: {count}; {', '.join(words)}>"


_M = TypeVar("_M", _xcorr.Matcher, _xcorr.MultiMatcher)


class MatcherBase(Generic[_M]):
    """What `Matcher` and `MultiMatcher` have in common. `matcher`: the module's; `device`: that of frames on a GPU."""

    def __init__(self, matcher: _M, device: _xcorr.Device, templates: Sequence[Any], masks: Sequence[Any] | None,
                 colours: Colours, settings: Settings) -> None:
        if colours not in ("", "rgb", "bgr"):
            raise ValueError(f"no such colours: {colours!r}; there are 'rgb', 'bgr' and ''")
        self._matcher: _M = matcher
        self._device = device
        self._colours = colours
        self._prepared: tuple[str, int, int] | None = None
        self.set_templates(templates, masks)
        self.settings = settings

    def set_templates(self, templates: Sequence[Any], masks: Sequence[Any] | None = None) -> None:
        """Replace the bank. On an error the previous one stays.

        Parameters
        ----------
        templates : sequence of arrays or of LiveTemplate
            All of uint8, all of uint16 or all of float32, of any sizes; copied. Live ones, of the matcher's device, are
            shared.
        masks : sequence, optional
            For each template None or an array of its shape, uint8 or bool: the pixels where it is 0 do not count.
            Floats that are not finite may not count. With the setting `weights`: how much each counts.
        """
        templates = list(templates)
        masks = list(masks or ())
        images = [None if mask is None else host_image(mask, f"the mask of template {i}", MASKS)
                    for i, mask in enumerate(masks)]
        live = [isinstance(each, LiveTemplate) for each in templates]
        if any(live) and not all(live):
            raise TypeError("templates are all live or none is")
        if any(live):
            self._matcher.set_live_templates([each._live for each in templates], images)
        else:
            templates = [np.array(host_array(each, f"template {i}")) for i, each in enumerate(templates)]
            self._matcher.set_templates([host_image(each, f"template {i}", MATCHED, self._colours)
                                         for i, each in enumerate(templates)], images)
        self._templates = templates
        self._masks = [None if mask is None else np.array(host_array(mask)) for mask in masks]
        self._prepared = None

    @property
    def settings(self) -> Settings:
        """How frames are searched; assign others at any time."""
        return self._settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        if not isinstance(settings, Settings):
            raise TypeError(f"settings are Settings, not {settings!r}")
        self._library_settings = check_settings(settings, self._device)
        self._settings = settings
        self._prepared = None

    @property
    def kernel(self) -> str:
        """The kernel in use; empty before the first frame."""
        return self._matcher.kernel

    @property
    def tuning(self) -> str:
        """What the last measurement with the kernel "tune" found; empty before that."""
        return self._matcher.tuning

    def _prepare(self, code: str, height: int, width: int) -> None:
        if (code, height, width) == self._prepared:
            return
        self._matcher.prepare(code, height, width, self._library_settings)
        self._prepared = code, height, width

    def _frame(self, frame: Any) -> tuple[Any, _xcorr.Image]:
        """Where it is, and as an image that the matcher is prepared for."""
        place = place_of(frame, "frame", None)
        if place.device.is_gpu and place.device.ordinal != self._device.ordinal:
            raise ValueError(f"the frame is on {name_of(place.device)}, the matcher on {name_of(self._device)}")
        if kind_of(frame) is Host:
            frame = finite(host_array(frame, "frame"))
        with place.current():
            image = place.image(frame, "frame", MATCHED, self._colours)
            self._prepare(image.type, image.height, image.width)
        return place, image

    def __repr__(self) -> str:
        return described(self, self._templates, self._settings)

    def match(self, frame: Any) -> np.ndarray:
        """Find the templates in a frame.

        Parameters
        ----------
        frame : array of shape (height, width) or with `colours` (height, width, 3 or 4)
            Of the templates' type; of NumPy, CuPy, PyTorch or anything with DLPack or
            ``__cuda_array_interface__``. One in host memory can be matched anywhere, one on a GPU there. In host
            memory a float that is not finite counts as 0.

        Returns
        -------
        array of PEAK
            The templates in order, the best first for each.
        """
        self.enqueue(frame)
        return self.collect()

    def match_batch(self, frames: Any) -> tuple[np.ndarray, np.ndarray]:
        """Find the templates in each of many frames.

        Parameters
        ----------
        frames : array of shape (n, height, width) or with `colours` (n, height, width, 3 or 4), or a sequence of frames
            Each as for `match`.

        Returns
        -------
        array of int
            Of each peak, in which frame it is.
        array of PEAK
            Frame by frame as `match` returns them.
        """
        found = [self.match(frame) for frame in frames]
        numbers = np.repeat(np.arange(len(found)), [len(peaks) for peaks in found])
        stacked = np.empty(len(numbers), PEAK)  # np.concatenate would pack the fields
        for number, peaks in enumerate(found):
            stacked[numbers == number] = peaks
        return numbers, stacked

    def enqueue(self, frame: Any) -> None:
        raise NotImplementedError

    def collect(self) -> np.ndarray:
        """Wait for the enqueued frame's peaks, as `match` returns them."""
        return self._matcher.collect().view(PEAK)

    def respond(self, frame: Any, template_index: int = 0) -> np.ndarray:
        """As `Matcher.score`, but the closeness (the threshold that is reached), 1 for a copy; in host memory."""
        place, image = self._frame(frame)
        with place.current():
            place.wait()  # the library reads it on a stream of its own
        return self._matcher.respond(image, template_index)


class Matcher(MatcherBase[_xcorr.Matcher]):
    """Searches frames for templates.

    Parameters
    ----------
    templates : sequence of arrays or of LiveTemplate, optional
        See `set_templates`.
    masks : sequence, optional
        See `set_templates`.
    device : str
        ``"cpu"``, ``"cuda"``, ``"cuda:1"``, or ``"auto"``: a GPU, or the CPU where there is none.
    colours : {"", "rgb", "bgr"}
        What the channels of arrays of shape (height, width, 3 or 4) are, of which the luma is matched; "": there
        are none.
    settings : Settings, optional
        How to search.
    **changes
        Fields of `Settings` that are different from `settings`.

    Several threads may use one matcher; they wait for each other. Matchers of threads of their own work at once.

    Examples
    --------
    >>> matcher = xcorr.Matcher([part], threshold=0.8, max_peaks=5, device="cpu")
    >>> peaks = matcher.match(frame)
    >>> peaks["x"], peaks["y"], peaks["score"]
    """

    def __init__(self, templates: Sequence[Any] = (), masks: Sequence[Any] | None = None, *, device: str = "auto",
                 colours: Colours = "", settings: Settings | None = None, **changes: Unpack[SettingsChanges]) -> None:
        opened = open_device(device)
        super().__init__(_xcorr.Matcher(opened), opened, templates, masks, colours,
                         changed(Settings, settings, changes, ("colours", "device", "masks", "settings")))

    @property
    def device(self) -> str:
        """Where it works: "cpu", "cuda:0", ..."""
        return name_of(self._device)

    def enqueue(self, frame: Any) -> None:
        """Begin to match a frame. On a GPU it goes on beside what the caller does until `collect`.

        The frame must not be changed until then. Of frames in a row, only the last one can be collected.
        """
        place, image = self._frame(frame)
        with place.current():
            self._matcher.enqueue(image, place.stream)

    def all_fit(self, height: int, width: int) -> None:
        """Raise ValueError, naming the first that does not, unless all templates fit into such frames."""
        self._prepare(self._code_of_templates(), height, width)
        self._matcher.all_fit()

    def _code_of_templates(self) -> str:
        if not self._templates:
            return "u1"
        first = self._templates[0]
        return (first.read() if isinstance(first, LiveTemplate) else first).dtype.str[1:]

    @overload
    def score(self, frame: np.ndarray, template_index: int = ..., out: Any = ...) -> np.ndarray: ...
    @overload
    def score(self, frame: Any, template_index: int = ..., out: Any = ...) -> Any: ...
    def score(self, frame: Any, template_index: int = 0, out: Any = None) -> Any:
        """What one template scores at every place: OpenCV's values.

        Parameters
        ----------
        frame : array
            As for `match`.
        template_index : int
        out : array of float32 of the result's shape, optional

        Returns
        -------
        array of float32
            Where the template does not fit, an empty one. As for `match_template`, it is on a GPU if the frame
            is. With a search region its first element is that region's first place.
        """
        place, image = self._frame(frame)
        with place.current():
            _, _, width, height = self._matcher.places(template_index)
            if out is None:
                out = place.empty((height, width), "f4")
            if width:
                self._matcher.score(image, template_index, place.target(out), place.stream)
            elif template_index >= len(self._templates):
                raise ValueError(f"there is no template {template_index}")
        return out

    def score_batch(self, frames: Any, template_index: int = 0) -> np.ndarray:
        """What one template scores at every place of each of many frames, of one size: an array of float32 of shape
        (n, ...), each part as `score` returns it, in host memory."""
        first, *others = frames
        scores = host_array(self.score(first, template_index))
        stacked = np.empty((1 + len(others), *scores.shape), np.float32)
        stacked[0] = scores
        for number, frame in enumerate(others, 1):
            scores = host_array(self.score(frame, template_index))
            if scores.shape != stacked.shape[1:]:
                raise ValueError(f"frames of a batch have one size; the scores of frame {number} have the shape "
                                 f"{scores.shape}, those before it {stacked.shape[1:]}")
            stacked[number] = scores
        return stacked

    def __reduce__(self) -> Any:
        """Pickles as what it was made of. Live templates do not."""
        return _rebuilt, (self._templates, self._masks, self.device if self._device.is_gpu else "cpu", self._colours,
                          self._settings)


def _rebuilt(templates: Any, masks: Any, device: str, colours: Colours, settings: Settings) -> Matcher:
    return Matcher(templates, masks, device=device, colours=colours, settings=settings)
