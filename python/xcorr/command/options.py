# SPDX-License-Identifier: LGPL-2.1-or-later
"""What several subcommands have: templates, how they are searched, and how results are written."""
from __future__ import annotations

import argparse
import csv
import math
import sys
from typing import Any, Mapping, Sequence, TextIO, get_args

from .._settings import METHODS, MatchOn, Poses, Settings

FORMATS = ("table", "json", "csv")
TRACKERS = ("auto", "template", "filter")


def numbers(count: int, text: str, what: str, kind: Any = int) -> tuple[Any, ...]:
    """Of an argument with commas between."""
    try:
        found = tuple(kind(each) for each in text.split(","))
    except ValueError:
        found = ()
    if len(found) != count:
        raise argparse.ArgumentTypeError(f"{what}, not {text!r}")
    return found


def box(text: str) -> tuple[int, int, int, int]:
    x, y, width, height = numbers(4, text, "a box is x,y,width,height in whole pixels")
    if x < 0 or y < 0 or width < 1 or height < 1:
        raise argparse.ArgumentTypeError(f"a box lies in the image and has pixels, not {text!r}")
    return x, y, width, height


def count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"it is 1 or more, not {text}")
    return number


def seconds(text: str) -> float:
    number = float(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"it is a time in seconds, more than 0, not {text}")
    return number


def angles(text: str) -> tuple[float, float]:
    """The first one and how far they go."""
    first, last = (0.0, 360.0) if text == "any" else numbers(2, text, "angles are FIRST,LAST in degrees, or any", float)
    if not 0 <= last - first <= 360:
        raise argparse.ArgumentTypeError(f"angles go counter-clockwise from the first to the last, by 360 degrees at "
                                         f"most, not {text!r}")
    return first, last - first


def scales(text: str) -> tuple[float, float]:
    return numbers(2, text, "scales are LEAST,GREATEST as factors", float)


def add_search(parser: argparse.ArgumentParser, template_required: bool = True) -> None:
    """Options of the library's and the element's, which have the same meaning for both."""
    group = parser.add_argument_group("what is searched, and how")
    group.add_argument("-t", "--template", action="append", default=[], required=template_required, metavar="FILE",
                       help="an image to look for; where it is transparent it does not count; may be repeated")
    group.add_argument("--method", choices=METHODS, default="ccoeff-normed", help="how it is scored (%(default)s)")
    group.add_argument("--match-on", choices=get_args(MatchOn), default="luma",
                       help="what is compared: brightness, all of the colour, edges, or those of the colour "
                       "(%(default)s)")
    group.add_argument("--threshold", type=float, default=0.7, metavar="SHARE",
                       help="how close a match must be, -1 to 1 (%(default)s)")
    group.add_argument("--max-peaks", type=int, default=1, metavar="N", help="matches of a template in an image (1)")
    group.add_argument("--angles", type=angles, metavar="FIRST,LAST", help="degrees, counter-clockwise, or any "
                       "(upright)")
    group.add_argument("--scales", type=scales, metavar="LEAST,GREATEST", help="as factors, such as 0.8,1.25 (1,1)")
    group.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 (auto)")


def add_tracker(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tracker", choices=TRACKERS, default="auto", help="what follows a target once it is found: "
                        "the template, or a filter that learns (%(default)s)")


def settings(options: argparse.Namespace) -> Settings:
    poses = None
    if options.angles or options.scales:
        start, extent = options.angles or (0.0, 0.0)
        least, greatest = options.scales or (1.0, 1.0)
        poses = Poses(angle_start=start, angle_extent=extent, scale_min=least, scale_max=greatest)
    return Settings(method=options.method, threshold=options.threshold, max_peaks=options.max_peaks, poses=poses,
                    match_on=options.match_on)


def add_output(parser: argparse.ArgumentParser) -> Any:
    """Returns the group, for more of the kind."""
    group = parser.add_argument_group("what is written")
    group.add_argument("-f", "--format", choices=FORMATS, default="table",
                       help="a line for each match, or with json for each image or frame (%(default)s)")
    group.add_argument("-o", "--output", metavar="FILE", help="where to (standard output)")
    group.add_argument("-q", "--quiet", action="store_true", help="no progress")
    return group


class Results:
    """Writes what is found in one image or frame after another, as soon as it is there.

    `columns`: their names, with the alignment and width that each has in a table.
    """

    def __init__(self, form: str, file: TextIO, columns: Mapping[str, str]) -> None:
        self._form, self._file, self._columns = form, file, columns
        self._csv: Any = csv.writer(file) if form == "csv" else None
        self._begun = False
        self.count = 0

    def write(self, line: str, rows: Sequence[Sequence[Any]]) -> None:
        """The line of JSON, and what takes its place in a table."""
        self.count += len(rows)
        if self._form == "json":
            print(line, file=self._file)
        for row in [*[tuple(self._columns)] * (not self._begun), *rows] if self._form != "json" else ():
            if self._csv:
                self._csv.writerow(row)
            else:
                print(*(self._cell(name, cell) for name, cell in zip(self._columns, row)), file=self._file)
        self._begun = True
        self._file.flush()

    def _cell(self, name: str, value: Any) -> str:
        if isinstance(value, float):
            value = f"{value:.4g}" if name in ("score", "confidence", "scale") else f"{value:.2f}"
        return f"{value!s:{self._columns[name]}}"


class Output:
    """The results' file, or standard output, closed at the end."""

    def __init__(self, options: argparse.Namespace, columns: Mapping[str, str]) -> None:
        self._path, self._form, self._columns = options.output, options.format, columns

    def __enter__(self) -> Results:
        self._file = open(self._path, "w", newline="", encoding="utf-8") if self._path else sys.stdout
        return Results(self._form, self._file, self._columns)

    def __exit__(self, *_: Any) -> None:
        if self._path:
            self._file.close()
