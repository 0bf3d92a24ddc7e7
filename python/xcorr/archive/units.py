# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is to be done, and what has been: units and their parts.

The result of a unit is one Parquet file, a part, whose name says whose result it is. It is put in place whole, so the
parts that are there are what has been done.
"""
from __future__ import annotations

import dataclasses
import hashlib
import os
import pathlib
import socket
from typing import Any, Sequence

from .._gstreamer import Gst, check, running
from .._launch_line import quoted
from .._missing import need
from . import stacks

# Which of a file's streams is read; caps have no word for any video.
VIDEO = ";".join(f"video/{kind}" for kind in (
    "mpeg", "x-av1", "x-dirac", "x-divx", "x-dv", "x-ffv", "x-h263", "x-h264", "x-h265", "x-msmpeg", "x-prores",
    "x-raw", "x-theora", "x-vp8", "x-vp9", "x-wmv", "x-xvid")) + ";image/jpeg;image/png"

# So much may a file's sound, or its last frame, last after the video.
MISSING = Gst.SECOND


@dataclasses.dataclass(frozen=True)
class Search:
    """Template files and properties of cudaxcorr; `key` names them and their contents."""
    templates: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]
    key: str
    white: int = 65535  # of stacks of 16 bits, what becomes 255


@dataclasses.dataclass(frozen=True)
class Unit:
    """Frames `first` to `last` - 1 of a file, in the order they are shown; `times` are their stream times in ns."""
    file: str
    file_key: str
    first: int
    times: tuple[int, ...]
    search: Search

    @property
    def last(self) -> int:
        return self.first + len(self.times)

    @property
    def name(self) -> str:
        """Of its part."""
        return f"{self.search.key}-{self.file_key}-{self.first:08d}-{self.last:08d}.parquet"


def key_of(file: str) -> str:
    """Names a file, or the images of a folder, as it is now: where, how large, how old."""
    identity = hashlib.sha256()
    for path in stacks.files_of(file) if os.path.isdir(file) else [file]:
        status = os.stat(path)
        if not status.st_size:
            raise ValueError("the file is empty" if path == file else f"{path} is empty")
        identity.update(f"{os.path.realpath(path)}\0{status.st_size}\0{status.st_mtime_ns}\0".encode())
    return identity.hexdigest()[:16]


def frames_of(file: str, warnings: list[str]) -> list[tuple[int, bool]]:
    """(stream time, whether it is a key frame) of each frame of the video, in the order they are shown.

    Reads the file without decoding it; what is odd is appended to `warnings`. The images of a stack have no times:
    they are a second apart.
    """
    if stacks.is_stack(file):
        return [(number * Gst.SECOND, True) for number in range(stacks.length(file))]
    line = f"filesrc location={quoted(file)} ! parsebin ! {VIDEO} ! appsink name=end sync=false max-buffers=100"
    frames: list[tuple[int, bool]] = []
    with running(line, warnings, local=True) as pipeline:
        end = pipeline.get_by_name("end")
        pipeline.set_state(Gst.State.PLAYING)
        while True:
            sample = end.emit("try-pull-sample", Gst.SECOND)
            check(pipeline, 0, Gst.MessageType.ERROR)
            if sample:
                buffer = sample.get_buffer()
                time = sample.get_segment().to_stream_time(Gst.Format.TIME, buffer.pts)
                if time == Gst.CLOCK_TIME_NONE:
                    raise ValueError("it has frames without a time")
                frames.append((time, not buffer.has_flags(Gst.BufferFlags.DELTA_UNIT)))
            elif end.get_property("eos"):
                break
        known, duration = pipeline.query_duration(Gst.Format.TIME)
    if not frames:
        raise ValueError("there is no video in it")
    frames.sort()
    if any(a[0] == b[0] for a, b in zip(frames, frames[1:])):
        raise ValueError("several of its frames have the same time")
    if known and frames[-1][0] + MISSING < duration:
        warnings.append(f"its video ends at {frames[-1][0] / Gst.SECOND:.1f} s of {duration / Gst.SECOND:.1f} s: it "
                        "may be truncated")
    return frames


def units_of(file: str, search: Search, least: int, warnings: list[str] | None = None) -> list[Unit]:
    """The units of a file: from key frame to key frame, of at least so many frames but for the last."""
    frames, key = frames_of(file, [] if warnings is None else warnings), key_of(file)
    starts = [0]
    for number, (_, is_key) in enumerate(frames):
        if is_key and number - starts[-1] >= least:
            starts.append(number)
    times = [time for time, _ in frames]
    return [Unit(str(file), key, begin, tuple(times[begin:end]), search)
            for begin, end in zip(starts, [*starts[1:], len(times)])]


def done(folder: str | pathlib.Path) -> set[str]:
    """The names of the parts that are there."""
    return {entry.name for entry in os.scandir(folder) if entry.name.endswith(".parquet")}


PEAK = {"label": "string", "template_id": "uint32", "x": "double", "y": "double", "width": "double",
        "height": "double", "center_x": "double", "center_y": "double", "angle": "double", "scale": "double",
        "score": "double", "confidence": "double", "similarity": "double"}


def pyarrow() -> Any:
    how = "pip install 'xcorr[ray]', or pyarrow itself"
    need("pyarrow.parquet", "pyarrow", how)
    return need("pyarrow", "pyarrow", how)


def schema() -> Any:
    """A row a frame, with its peaks."""
    arrow = pyarrow()
    peak = arrow.struct([(name, arrow.type_for_alias(type_)) for name, type_ in PEAK.items()])
    return arrow.schema([("file", arrow.string()), ("frame", arrow.int64()), ("time", arrow.int64()),
                         ("peaks", arrow.list_(peak))])


def put_part(folder: str | pathlib.Path, unit: Unit, results: Sequence[dict[str, Any]]) -> None:
    """Writes the part of a unit. `results` are lines of xcorrjson, one for each of its frames."""
    arrow = pyarrow()
    rows = [{"file": unit.file, "frame": unit.first + i, "time": time,
             "peaks": [{name: peak.get(name.replace("_", "-")) for name in PEAK} for peak in line["peaks"]]}
            for i, (time, line) in enumerate(zip(unit.times, results, strict=True))]
    part = pathlib.Path(folder, unit.name)
    written = part.with_suffix(f".{socket.gethostname()}.{os.getpid()}.tmp")
    try:
        arrow.parquet.write_table(arrow.Table.from_pylist(rows, schema()), written, compression="zstd")
        os.replace(written, part)
    finally:
        written.unlink(missing_ok=True)
