# SPDX-License-Identifier: LGPL-2.1-or-later
"""How templates are searched, as the page sets it: properties of the element, and commands that do the same elsewhere."""
from __future__ import annotations

import argparse
import dataclasses
import shlex
from typing import Any

from ..command.pipeline import properties, words_of

TRACKS = ("template", "filter", "off")

_PYTHON = '''\
import json
import subprocess

line = [
{words}]
with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as pipeline:
    for frame in map(json.loads, pipeline.stdout):
        for peak in frame["peaks"]:
            print(frame["stream-time"], peak["label"], peak["id"], peak["state"],
                  f"{{peak['x']:.2f}} {{peak['y']:.2f}} {{peak['score']:.3f}}")
'''


def _number(value: Any, name: str, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        raise ValueError(f"{name} must be a number from {least:g} to {most:g}, not {value!r}")
    return value


def _range(value: Any, name: str, least: float, most: float) -> tuple[float, float]:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise ValueError(f"{name} must be two numbers, not {value!r}")
    first, last = (_number(each, name, least, most) for each in value)
    if first > last:
        raise ValueError(f"{name} go from the least to the greatest, not {value!r}")
    return first, last


@dataclasses.dataclass(frozen=True)
class Search:
    threshold: float = 0.7
    angles: tuple[float, float] = (0.0, 0.0)
    scales: tuple[float, float] = (1.0, 1.0)
    peaks: int = 1
    track: str = "template"  # or "filter", or "off"

    def changed(self, changes: Any) -> Search:
        """As a page asks for it. Raises ValueError."""
        if not isinstance(changes, dict) or set(changes) - {each.name for each in dataclasses.fields(self)}:
            raise ValueError(f"these are no settings: {changes!r}")
        made = dataclasses.replace(self, **changes)
        if made.track not in TRACKS:
            raise ValueError(f"track must be one of {', '.join(TRACKS)}, not {made.track!r}")
        angles = _range(made.angles, "angles", -180, 180)
        return Search(_number(made.threshold, "threshold", -1, 1), angles, _range(made.scales, "sizes", 0.1, 10),
                      int(_number(made.peaks, "matches", 1, 1024)), made.track)

    def _options(self, source: str, device: str, whole: bool = False) -> argparse.Namespace:
        """As those of `xcorr pipeline`; with `whole` also what is as it would be without."""
        return argparse.Namespace(
            input=source, method="ccoeff-normed", match_on="luma", threshold=self.threshold, max_peaks=self.peaks,
            device=device, tracker=self.track, show=False, save=None,
            angles=(self.angles[0], self.angles[1] - self.angles[0]) if whole or any(self.angles) else None,
            scales=self.scales if whole or self.scales != (1, 1) else None)

    def of_element(self, still: bool) -> dict[str, str]:
        """Its properties. Nothing moves in a picture, so there are no tracks."""
        words = properties(self._options("", "auto", True), self._tracks(still))
        return {"track": "false"} | dict(word.split("=", 1) for word in words)

    def _tracks(self, still: bool) -> bool:
        return self.track != "off" and not still

    def words(self, source: str, device: str, templates: list[str], still: bool) -> list[str]:
        return words_of(self._options(source, device), templates, self._tracks(still))

    def exported(self, source: str, device: str, templates: list[str], still: bool) -> dict[str, str]:
        """A line for a shell, and a Python program."""
        if not templates:
            return {"line": "", "python": ""}
        words = self.words(source, device, templates, still)
        return {"line": " ".join(word if word == "!" else shlex.quote(word) for word in words),
                "python": _PYTHON.format(words="".join(f"    {word!r},\n" for word in words))}
