# SPDX-License-Identifier: LGPL-2.1-or-later
"""How templates are searched, as the page sets it: properties of the element, and commands that do the same."""
from __future__ import annotations

import argparse
import dataclasses
from typing import Any, get_args

from .._settings import MatchOn
from ..command.pipeline import line_of, properties, search_of, source as source_words, words_of
from . import export

TRACKS = ("template", "filter", "off")
MATCHED = get_args(MatchOn)


def one_of(value: Any, name: str, values: tuple[str, ...]) -> None:
    if value not in values:
        raise ValueError(f"{name} must be one of {', '.join(values)}, not {value!r}")


def number(value: Any, name: str, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        raise ValueError(f"{name} must be a number from {least:g} to {most:g}, not {value!r}")
    return value


def _range(value: Any, name: str, least: float, most: float) -> tuple[float, float]:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise ValueError(f"{name} must be two numbers, not {value!r}")
    first, last = (number(each, name, least, most) for each in value)
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
    match_on: str = "luma"

    def changed(self, changes: Any) -> Search:
        """As a page asks for it. Raises ValueError."""
        if not isinstance(changes, dict) or set(changes) - {each.name for each in dataclasses.fields(self)}:
            raise ValueError(f"these are no settings: {changes!r}")
        made = dataclasses.replace(self, **changes)
        one_of(made.track, "track", TRACKS)
        one_of(made.match_on, "match_on", MATCHED)
        angles = _range(made.angles, "angles", -180, 180)
        return Search(number(made.threshold, "threshold", -1, 1), angles, _range(made.scales, "sizes", 0.1, 10),
                      int(number(made.peaks, "matches", 1, 1024)), made.track, made.match_on)

    def _options(self, source: str, device: str, whole: bool = False) -> argparse.Namespace:
        """As those of `xcorr pipeline`; with `whole` also what is as it would be without."""
        angles, scales = self.angles, self.scales
        return argparse.Namespace(
            input=source, method="ccoeff-normed", match_on=self.match_on, threshold=self.threshold,
            max_peaks=self.peaks,
            device=device, tracker=self.track, show=False, save=None,
            angles=(angles[0], angles[1] - angles[0]) if whole or any(angles) else None,
            scales=scales if whole or scales != (1, 1) else None)

    def of_element(self, still: bool) -> dict[str, str]:
        """Its properties. Nothing moves in a picture, so there are no tracks."""
        return {"match-on": "luma", "track": "false"} | self._properties(self._options("", "auto", True), still)

    def _properties(self, options: argparse.Namespace, still: bool) -> dict[str, str]:
        return dict(word.split("=", 1) for word in properties(options, self._tracks(still)))

    def _tracks(self, still: bool) -> bool:
        return self.track != "off" and not still

    def words(self, source: str, device: str, templates: list[str], still: bool) -> list[str]:
        return words_of(self._options(source, device), templates, self._tracks(still))

    def exported(self, source: str, device: str, templates: list[str], still: bool) -> dict[str, str]:
        """By the names that the page has for them."""
        if not templates:
            return {"line": "", "c": "", "python": "", "settings": ""}
        words, options = self.words(source, device, templates, still), self._options(source, device)
        return {"line": line_of(words), "python": export.python(words),
                "c": export.c([*search_of(options, templates, self._tracks(still)), "!", "fakesink"]),
                "settings": export.settings(source, source_words(source), templates, self._properties(options, still))}
