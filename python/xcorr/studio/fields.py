# SPDX-License-Identifier: LGPL-2.1-or-later
"""Displacement fields for the page: the motion from the frame before, or from a picture of the studio's own, to a
frame.

The element `cudaxcorrfield` measures in a pipeline of its own, and only frames that a page asks about, so the pipeline
that plays never waits for it. Its properties are those of the line that is exported.
"""
from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..command.pipeline import line_of, source as source_words
from ..field.plot import MAPS, values_of
from . import export
from .images import Chain
from .player import Frame
from .search import number, one_of

SHOWN = ("off", *MAPS)  # "none": arrows without a map
SUBPIXEL = ("gauss", "least-squares")
REFERENCES = ("previous", "picture")
WINDOWS, SPACINGS = (8, 128), (4, 128)  # pixels
#: Of a window, in the order in which pages get them: each is a row of floats.
SENT = ("x", "y", "dx", "dy", "status", "value")
_SLOPES = ("dx-by-x", "dx-by-y", "dy-by-x", "dy-by-y")


@dataclasses.dataclass(frozen=True)
class FieldView:
    """What a page has set."""
    show: str = "off"
    window: int = 32
    spacing: int = 16
    subpixel: str = "gauss"
    reference: str = "previous"

    def changed(self, changes: Any) -> FieldView:
        """As a page asks for it. Raises ValueError."""
        if not isinstance(changes, dict) or set(changes) - {each.name for each in dataclasses.fields(self)}:
            raise ValueError(f"these are no settings of a field: {changes!r}")
        made = dataclasses.replace(self, **changes)
        for value, name, values in ((made.show, "show", SHOWN), (made.subpixel, "subpixel", SUBPIXEL),
                                    (made.reference, "reference", REFERENCES)):
            one_of(value, name, values)
        return dataclasses.replace(made, window=int(number(made.window, "window", *WINDOWS)),
                                   spacing=int(number(made.spacing, "spacing", *SPACINGS)))

    def properties(self, device: str, picture: str) -> list[str]:
        """Of the element, those that are not the default ones; `picture` is a file."""
        name, _, ordinal = device.partition(":")
        words = [f"windows=<{self.window}>", f"spacing={self.spacing}"]
        words += [f"subpixel={self.subpixel}"] * (self.subpixel != "gauss")
        words += ["reference=file", f"reference-file={picture}"] * (self.reference == "picture")
        return words + [f"backend={name}"] * (name != "auto") + [f"cuda-device-id={ordinal}"] * bool(ordinal)

    def exported(self, source: str, device: str, picture: str) -> dict[str, str]:
        """By the names that the page has for them."""
        if self.show == "off" or not source:
            return {}
        words = ["gst-launch-1.0", "-q", "-e", *source_words(source), "!", "videoconvert", "!", "cudaxcorrfield",
                 *self.properties(device, picture), "post-messages=false", "!", "xcorrjson", "!", "fakesink"]
        return {"field-line": line_of(words), "field-python": export.field_python(words)}


class Fields:
    """Measures. For one thread at a time."""

    def __init__(self) -> None:
        self._chain: Chain | None = None
        self._of: Any = None

    def __call__(self, frame: Frame, view: FieldView, device: str, picture: str) -> tuple[dict[str, Any], bytes]:
        """A header and the arrays of SENT. Raises RuntimeError where nothing can be measured, which says why."""
        words = view.properties(device, picture) + ["reference=signal"] * (view.reference == "previous")
        of = words, frame.sample.get_caps().to_string()
        if of != self._of:
            self.close()
            self._chain = Chain(["cudaxcorrfield", "name=field", *words, "post-messages=false", "!", "appsink",
                                 "name=out", "sync=false"], frame.sample.get_caps())
            self._of = of
        assert self._chain
        if view.reference == "previous":
            if frame.before is None or frame.before.get_caps().to_string() != of[1]:
                return {"state": "no frame before this one: play on, or a step"}, b""
            self._chain.pipeline.get_by_name("field").emit("take-reference")
            self._chain(frame.before.get_buffer())
        try:
            made = self._chain(frame.sample.get_buffer())
            return self._read(made.get_buffer(), view.show)
        except RuntimeError:
            self.close()
            raise

    def _read(self, buffer: Any, show: str) -> tuple[dict[str, Any], bytes]:
        meta = buffer.get_custom_meta("GstCudaXCorrFieldMeta").get_structure()
        state, shape = meta.get_value("state"), (meta.get_value("rows"), meta.get_value("columns"))
        if not all(shape):
            assert self._chain
            raise RuntimeError(self._chain.complaint() or f"the field is {state}")
        names = ["x", "y", "dx", "dy", "status", *_SLOPES]
        vectors = np.zeros(shape, [(name.replace("-", "_"), "f4") for name in names])
        for name in names:
            values = np.frombuffer(meta.get_value(name).get_data(), "f4")
            if values.size:
                vectors[name.replace("-", "_")] = values.reshape(shape)
        value = np.nan_to_num(values_of(vectors, show))
        header = {"state": state, "columns": shape[1], "rows": shape[0], "show": show,
                  **{name: meta.get_value(name)
                     for name in ("window", "spacing", "valid", "median-x", "median-y", "rms")}}
        return header, b"".join(np.ascontiguousarray(each, "f4").tobytes()
                                for each in (*(vectors[name] for name in SENT[:-1]), value))

    def close(self) -> None:
        if self._chain:
            self._chain.close()
        self._chain = self._of = None
