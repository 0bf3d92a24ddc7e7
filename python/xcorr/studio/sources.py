# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the page may open: what the command line names, and what lies in folders that it names. Nothing else."""
from __future__ import annotations

import pathlib

from ..field.images import SUFFIXES, Unreadable

VIDEOS = {".avi", ".m4v", ".mjpeg", ".mkv", ".mov", ".mp4", ".mpg", ".mxf", ".ogv", ".ts", ".webm"}


class Sources:
    """Names for the page, and what they stand for. Raises Unreadable for what is not there."""

    def __init__(self, inputs: list[str]) -> None:
        self._inputs = inputs
        for each in inputs:
            if "://" not in each and not each.isdigit() and not pathlib.Path(each).exists():
                raise Unreadable(f"{each}: there is no such file")
        if not self.names():
            raise Unreadable(f"{', '.join(inputs)}: no video and no picture; give a file, a folder with some, an "
                             "address such as rtsp://... or the number of a camera")

    def names(self) -> dict[str, str]:
        """In order; folders are read again, since files come and go."""
        found = {}
        for each in self._inputs:
            folder = pathlib.Path(each)
            if "://" in each or each.isdigit() and not folder.exists():
                found[f"camera {each}" if each.isdigit() else each] = each
            elif folder.is_dir():
                top = folder.resolve()
                for path in sorted(folder.iterdir()):
                    there = path.resolve()  # a link must not lead out of the folder
                    if path.suffix.lower() in SUFFIXES | VIDEOS and there.is_file() and there.is_relative_to(top):
                        found[str(path)] = str(there)
            else:
                found[each] = str(folder.resolve())
        return found

    def find(self, name: object) -> str:
        if not isinstance(name, str) or name not in (names := self.names()):
            raise Unreadable(f"{name!r} is not among what xcorr studio was started with")
        return names[name]
