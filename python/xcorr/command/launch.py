# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pipelines of gst-launch-1.0 whose frames are read here: a line of xcorrjson each and blocks of bytes on request."""
from __future__ import annotations

import os
import re
import selectors
import shutil
import signal
import subprocess
import threading
import time
from typing import Callable, Iterator, Sequence

from ..field.images import Unreadable, say
from .pipeline import environment

#: s, the most that is waited for the end of a stream that is ended.
END = 2


def has_element(name: str) -> bool:
    """Whether GStreamer has it, of any version: by itself `--exists` asks for GStreamer's own."""
    return subprocess.run(["gst-inspect-1.0", "--exists", "--atleast-version=0.0", name], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0


def check_gstreamer() -> None:
    """Raises Unreadable where a pipeline cannot run."""
    for program in ("gst-launch-1.0", "gst-inspect-1.0"):
        if not shutil.which(program):
            raise Unreadable(f"pipelines are GStreamer's work, and {program} is missing (Debian: gstreamer1.0-tools)")
    if not has_element("cudaxcorr"):
        raise Unreadable("GStreamer has no element cudaxcorr: set GST_PLUGIN_PATH_1_0 to the folder of "
                         "libgstcudaxcorr.so; xcorr doctor says more")


class _Pipe:
    """Reads from a pipe of its own, never longer than a time limit. `writer` is for the other process, which must not
    wait for ever with what it writes to the pipe `beside`."""

    def __init__(self, beside: _Pipe | None = None) -> None:
        self._reader, self.writer = os.pipe()
        self._buffer = bytearray()
        self._beside = beside
        self._selector = selectors.DefaultSelector()
        for pipe in (self, beside) if beside else (self,):
            self._selector.register(pipe._reader, selectors.EVENT_READ, pipe)

    def _read(self) -> bool:
        more = os.read(self._reader, 1 << 20)
        self._buffer += more
        return bool(more)

    def _fill(self, patience: float | None) -> bool:
        """False at the end. Raises TimeoutError."""
        ready = [key.data for key, _ in self._selector.select(patience)]
        if not ready:
            raise TimeoutError
        if self._beside and self._beside in ready and not self._beside._read():
            self._selector.unregister(self._beside._reader)
        return self not in ready or self._read()

    def line(self, patience: float | None) -> bytes:
        """Empty at the end."""
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if not self._fill(patience):
                return b""
        return self._taken(end + 1)

    def block(self, size: int, patience: float | None) -> bytes:
        while len(self._buffer) < size:
            if not self._fill(patience):
                return b""
        return self._taken(size)

    def _taken(self, size: int) -> bytes:
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    def close(self) -> None:
        self._selector.close()
        os.close(self._reader)


class _Words:
    """What gst-launch-1.0 says: warnings go to standard error as they come, errors are kept."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.errors: list[str] = []
        self._others: list[str] = []
        self._thread = threading.Thread(target=self._read, args=(process,), daemon=True)
        self._thread.start()

    def _read(self, process: subprocess.Popen[str]) -> None:
        for line in process.stdout or ():
            said = re.match(r"(WARNING|ERROR): from element \S+: (.*)", line)
            if said and said[1] == "WARNING":
                say(said[2])
            elif said:
                self.errors.append(said[2])
                process.terminate()  # with -e it would wait for an end of the stream that may never come
            else:
                self._others.append(line.strip())

    def reason(self) -> str:
        self._thread.join(2)
        return "; ".join(dict.fromkeys(self.errors)) or next(
            (each.removeprefix("WARNING: ") for each in reversed(self._others) if re.search("rror|erroneous", each)),
            "gst-launch-1.0 failed")


def frames(words_of: Callable[[int, int | None], Sequence[str]], source: str, *, first: float | None = None,
           stall: float | None = None, block: int = 0,
           enough: Callable[[], bool] = lambda: False) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Of each frame the line, and what reads the next block of that many bytes; it is for who reads to know by the line
    how many follow. With blocks an empty line comes last: a further block may have come at the end, else it is empty.

    Once there is `enough` the stream is ended (which takes the option -e); the frames that are on their way still come.

    `words_of(lines, blocks)` is the command, with the descriptors for both; `blocks` is None without. Raises
    Unreadable, with `source`, for what GStreamer says is wrong, and when no frame has come for `stall` seconds, or
    `first` before any.
    """
    blocks = _Pipe() if block else None
    lines = _Pipe(blocks)
    writers = [pipe.writer for pipe in (lines, blocks) if pipe]
    process = subprocess.Popen(words_of(lines.writer, blocks.writer if blocks else None), pass_fds=writers, text=True,
                               errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, env=environment(source) | {"LC_ALL": "C.UTF-8"})
    for writer in writers:
        os.close(writer)
    words = _Words(process)
    patience, deadline = first, None  # until when the stream has to end

    def next_block() -> bytes:
        """Empty where none comes: then no line does."""
        try:
            return blocks.block(block, patience) if blocks else b""
        except TimeoutError:
            return b""

    try:
        while line := lines.line(patience):
            patience = stall
            yield line.decode(), next_block
            if deadline is None and enough():
                deadline = time.monotonic() + END
                process.send_signal(signal.SIGINT)
            if deadline is not None and (patience := deadline - time.monotonic()) <= 0:
                return
        if blocks:
            yield "", next_block
        if process.wait(patience) and deadline is None:
            raise Unreadable(f"{source}: {words.reason()}")
    except (TimeoutError, subprocess.TimeoutExpired):
        if deadline is not None:
            return
        raise Unreadable(f"{source}: no frame has come for {patience:g} s") from None
    finally:
        process.terminate()
        try:
            process.wait(2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        words.reason()  # all of what it said
        lines.close()
        if blocks:
            blocks.close()
