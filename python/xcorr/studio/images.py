# SPDX-License-Identifier: LGPL-2.1-or-later
"""Samples of GStreamer's as JPEG for the page, as templates in PNG files, and their responses."""
from __future__ import annotations

import importlib
import pathlib
from typing import Any

import numpy as np

from .._gstreamer import Gst, gi, keep_local
from ..field.images import Unreadable

gi.require_version("GstVideo", "1.0")
GstVideo: Any = importlib.import_module("gi.repository.GstVideo")

WIDEST = 1280  # pixels of what the page gets
LIMIT = 5 * Gst.SECOND

#: Of a response, from 0 to 255: dark blue, violet, red, yellow, white.
_HEAT = np.stack([np.interp(np.arange(256), [0, 35, 90, 170, 255], levels) for levels in
                  ([8, 82, 204, 250, 255], [10, 28, 62, 186, 255], [38, 116, 70, 60, 226])], axis=1).astype("u1")


def size_of(sample: Any) -> tuple[int, int]:
    info = GstVideo.VideoInfo.new_from_caps(sample.get_caps())
    return info.width, info.height


def scaled(size: tuple[int, int], widest: int) -> tuple[int, int]:
    """With so many columns at most."""
    width, height = (max(1, round(each * min(1.0, widest / size[0]))) for each in size)
    return width, height


def size_of_file(path: str) -> tuple[int, int]:
    """Of an image. Raises Unreadable."""
    if not pathlib.Path(path).is_file():
        raise Unreadable(f"{path}: there is no such file")
    chain = Gst.parse_launchv(["filesrc", f"location={path}", "!", "decodebin", "!", "appsink", "name=out"])
    keep_local(chain)
    chain.set_state(Gst.State.PLAYING)
    sample = chain.get_by_name("out").emit("try-pull-preroll", LIMIT)
    chain.set_state(Gst.State.NULL)
    if not sample:
        raise Unreadable(f"{path}: this is no image that GStreamer can read")
    return size_of(sample)


def sample_of(pixels: np.ndarray) -> Any:
    """Of a gray or RGB image."""
    height, width = pixels.shape[:2]
    row = width * (3 if pixels.ndim == 3 else 1)
    padded = np.zeros((height, -(-row // 4) * 4), "u1")
    padded[:, :row] = pixels.reshape(height, row)
    caps = f"video/x-raw,format={'RGB' if pixels.ndim == 3 else 'GRAY8'},width={width},height={height},framerate=0/1"
    return Gst.Sample.new(Gst.Buffer.new_wrapped(padded.tobytes()), Gst.Caps.from_string(caps), None, None)


def pixels_of(sample: Any) -> np.ndarray:
    """Gray as it is, anything else as RGB."""
    gray = GstVideo.VideoInfo.new_from_caps(sample.get_caps()).finfo.format == GstVideo.VideoFormat.GRAY8
    if not gray:
        sample = GstVideo.video_convert_sample(sample, Gst.Caps.from_string("video/x-raw,format=RGB"), LIMIT)
    (width, height), buffer = size_of(sample), sample.get_buffer()
    flat = np.frombuffer(buffer.extract_dup(0, buffer.get_size()), "u1")
    rows = flat[:flat.size // height * height].reshape(height, -1)
    return rows[:, :width] if gray else rows[:, :width * 3].reshape(height, width, 3)


def cut(sample: Any, box: tuple[int, int, int, int], path: pathlib.Path) -> None:
    """Writes what is in the box (x, y, width, height) as a PNG file."""
    x, y, width, height = box
    part = pixels_of(sample)[y:y + height, x:x + width]
    made = GstVideo.video_convert_sample(sample_of(part), Gst.Caps.from_string("image/png"), LIMIT).get_buffer()
    path.write_bytes(made.extract_dup(0, made.get_size()))


class Chain:
    """Elements between two ends of the application's, which do their work for one frame after another."""

    def __init__(self, words: list[str], caps: Any) -> None:
        self.pipeline = Gst.parse_launchv(["appsrc", "name=in", "format=time", "!", *words])
        self._in, self._out = self.pipeline.get_by_name("in"), self.pipeline.get_by_name("out")
        self._in.set_property("caps", caps)
        self.pipeline.set_state(Gst.State.PLAYING)

    def __call__(self, buffer: Any) -> Any:
        """What comes out for it. Raises RuntimeError where nothing does."""
        self._in.emit("push-buffer", buffer)
        made = self._out.emit("try-pull-sample", LIMIT)
        if made is None:
            raise RuntimeError(self.complaint() or "GStreamer made nothing of this frame")
        return made

    def complaint(self) -> str:
        """What is wrong, as an element says it; empty: none does."""
        said = self.pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR | Gst.MessageType.WARNING)
        if not said:
            return ""
        parsed = said.parse_error() if said.type == Gst.MessageType.ERROR else said.parse_warning()
        return str(parsed[0].message)

    def close(self) -> None:
        self.pipeline.set_state(Gst.State.NULL)


class Encoder:
    """Makes JPEG images, of so many columns at most."""

    def __init__(self, widest: int = WIDEST) -> None:
        self._widest = widest
        self._chain: Chain | None = None
        self._of = ""

    def __call__(self, sample: Any) -> bytes:
        caps = sample.get_caps()
        if self._chain is None or caps.to_string() != self._of:
            self.close()
            width, height = scaled(size_of(sample), self._widest)
            self._chain = Chain(["videoconvert", "!", "videoscale", "!", f"video/x-raw,width={width},height={height},"
                                 "pixel-aspect-ratio=1/1", "!", "jpegenc", "!", "appsink", "name=out", "sync=false"],
                                caps)
            self._of = caps.to_string()
        buffer = self._chain(sample.get_buffer()).get_buffer()
        return bytes(buffer.extract_dup(0, buffer.get_size()))

    def close(self) -> None:
        if self._chain:
            self._chain.close()
        self._chain = None


class Response:
    """What a template scores at every place of a frame, by the pad `response` of an element of its own."""

    def __init__(self) -> None:
        self._chain: Chain | None = None
        self._of: Any = None

    def __call__(self, sample: Any, template: str, match_on: str = "luma") -> np.ndarray:
        """uint8: 255 times the largest threshold that a match with its upper left corner there would reach."""
        of = template, match_on, sample.get_caps().to_string()
        if of != self._of:
            self.close()
            self._chain = Chain(["cudaxcorr", "name=match", f"match-on={match_on}", "post-messages=false",
                                 "attach-roi-meta=false", "!", "fakesink", "sync=false", "async=false",
                                 "match.response", "!", "queue", "!", "appsink", "name=out", "sync=false",
                                 "async=false"], sample.get_caps())
            self._chain.pipeline.get_by_name("match").set_property("template", template)
            self._of = of
        assert self._chain
        try:
            return pixels_of(self._chain(sample.get_buffer()))
        except RuntimeError:
            self.close()
            raise

    def close(self) -> None:
        if self._chain:
            self._chain.close()
        self._chain = self._of = None


def as_heat(response: np.ndarray, template: tuple[int, int]) -> np.ndarray:
    """Colours, each score where the middle of its match would be."""
    width, height = template
    moved = np.zeros_like(response)
    moved[height // 2:, width // 2:] = response[:response.shape[0] - height // 2, :response.shape[1] - width // 2]
    return np.asarray(_HEAT[moved])


def read_scores(response: np.ndarray, template: tuple[int, int], targets: int) -> dict[str, Any]:
    """How often each score is there, and a threshold half-way between what targets score and the rest does."""
    width, height = template
    places = response[:response.shape[0] - height + 1, :response.shape[1] - width + 1].copy()
    counts = np.bincount(places.ravel() >> 2, minlength=64)
    best: list[float] = []
    for _ in range(targets + 1):
        y, x = np.unravel_index(int(places.argmax()), places.shape)
        best.append(float(places[y, x]) / 255)
        places[max(0, y - height // 2):y + height // 2 + 1, max(0, x - width // 2):x + width // 2 + 1] = 0
    target, other = best[-2], best[-1]
    return {"counts": counts.tolist(), "target": target, "other": other, "suggested": round((target + other) / 2, 2)}
