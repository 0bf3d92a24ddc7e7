# SPDX-License-Identifier: LGPL-2.1-or-later
"""`xcorr field`: the displacement fields of images, folders and videos, into files and plots."""
from __future__ import annotations

import argparse
import dataclasses
import inspect
import pathlib
import re
from typing import Any, Iterator

import numpy as np

from .._field import FieldMatcher, FieldSettings
from ..command.progress import beside_the_bar, progress
from .images import Series, Unreadable, open_series, read_image, read_places, say
from .plot import BACKGROUNDS, MAPS, Plots
from .writing import Field, Outputs, open_writer

_EPILOG = """
For each field a line says its mean displacement along x and y and the root of the mean square of its length, in pixels,
of the windows that are ok, and how many these are. -o writes .csv (a line for each window), .vtk (ParaView), .npz
(NumPy), .h5 (HDF5, by h5py) or .nc (NetCDF, by netCDF4).

An image that cannot be read, and a file that cannot be written, is named, and the rest goes on; then the exit status
is 2, as where the command line cannot be understood.
"""


def _sizes(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(each) for each in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"no whole numbers with commas between: '{text}'") from None


def _explanations() -> dict[str, str]:
    """Of each setting what the documentation of FieldSettings says; of none where Python runs without it."""
    found = {}
    documented = inspect.getdoc(FieldSettings) or ""
    for names, text in re.findall(r"^(\w+(?:, \w+)*) : .*\n((?: {4}.*\n?)+)", documented, re.MULTILINE):
        plain = re.sub('[`"]', "", " ".join(text.split())).rstrip(".")
        for name in names.split(", "):
            found[name] = plain[0].lower() + plain[1:]
    return found


def _add_settings(group: Any) -> None:
    explanations = _explanations()
    for field in dataclasses.fields(FieldSettings):
        option, text = "--" + field.name.replace("_", "-"), explanations.get(field.name, "")
        if isinstance(field.default, bool):
            group.add_argument(option, action="store_true", help=text)
        elif isinstance(field.default, tuple):
            group.add_argument(option, type=_sizes, default=field.default, metavar="N,N,...",
                               help=f"{text} ({','.join(map(str, field.default))})")
        else:
            group.add_argument(option, type=type(field.default), default=field.default,
                               metavar=type(field.default).__name__, help=f"{text} ({field.default})")


def add_to(commands: Any) -> None:
    parser = commands.add_parser("field", help="measures how each part of an image has moved (as xcorr-field)",
                                 epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
                                 description="Measures how each part of an image has moved in the next one.")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 (auto)")
    read = parser.add_argument_group("what is compared")
    read.add_argument("inputs", nargs="+", metavar="INPUT", help="two images or more, a folder of them, or a video")
    read.add_argument("--reference", choices=("previous", "first", "pairs"), default="previous",
                      help="images are compared with the one before, with the first one, or two by two (previous)")
    read.add_argument("--ensemble", action="store_true",
                      help="one field of all pairs, which show the same motion: their scores are averaged")
    read.add_argument("--mask", metavar="FILE", help="an image; where it is black the reference does not count")
    read.add_argument("--places", metavar="FILE", help="a CSV of x and y of the centres of windows, instead of a grid; "
                      "a first line of names may say which columns these are")
    read.add_argument("--cut-score", type=float, default=0.4, metavar="float", help="an image is named as one that "
                      "follows a cut where half of the windows score less; -1: none is (0.4)")
    written = parser.add_argument_group("what is written")
    written.add_argument("-o", "--output", action="append", default=[], metavar="FILE",
                         help="where the vectors go; may be repeated")
    written.add_argument("--plot", metavar="FILE", help="an image of each field, such as field.png")
    written.add_argument("--map", choices=MAPS, help="the colours of the plot (magnitude)")
    written.add_argument("--background", choices=BACKGROUNDS, help="what is below arrows and map of the plot: the "
                         "image they are measured in, or white (reference)")
    written.add_argument("-q", "--quiet", action="store_true", help="no progress and no summary")
    _add_settings(parser.add_argument_group("how it is measured, as by the library's FieldSettings"))
    parser.set_defaults(run=run)


class _Measuring:
    """The fields of a series."""

    def __init__(self, options: argparse.Namespace) -> None:
        settings = FieldSettings(**{field.name: getattr(options, field.name)
                                    for field in dataclasses.fields(FieldSettings)})
        mask = read_image(pathlib.Path(options.mask)) != 0 if options.mask else None
        places = read_places(pathlib.Path(options.places)) if options.places else None
        self._matcher = FieldMatcher(None, mask, places, device=options.device, settings=settings)
        self._kept, self._ensemble = options.reference, options.ensemble
        self._quiet = options.quiet
        self.broken = 0

    def fields(self, series: Series) -> Iterator[Field]:
        if self._ensemble:
            pairs = list(self._pairs(series))
            if pairs:
                number, name, reference, _ = pairs[0]
                yield Field(number, name, reference, self._matcher.match_ensemble(pair[2:] for pair in pairs))
            return
        taken: np.ndarray | None = None  # the matcher's reference
        for number, name, reference, image in self._pairs(series):
            if reference is not taken:
                self._matcher.set_reference(reference)
            taken = reference
            yield Field(number, name, reference, self._matcher.match(image))
            if self._kept == "previous":
                self._matcher.advance()
                taken = image

    def _pairs(self, series: Series) -> Iterator[tuple[int, str, np.ndarray, np.ndarray]]:
        """What is compared: the number and name of an image, its reference and itself; names what cannot be."""
        reference: np.ndarray | None = None
        number = -1
        for number, (name, image) in enumerate(progress(series, series.count, self._quiet)):
            begins_pair = self._kept == "pairs" and number % 2 == 0
            if begins_pair:
                reference = None
            fault = self._fault_of(name, image, reference)
            if fault:
                self.broken += 1
                say(fault)
            elif reference is not None:
                yield number, name, reference, image
                if self._kept == "previous":
                    reference = image
            elif begins_pair or self._kept != "pairs":  # else the first of the pair is broken
                reference = image
        if series.count and number + 1 < series.count:
            say(f"{series.name}: it ends after {number + 1} frames of {series.count}: it is broken there, or that "
                "number is an estimate")

    @staticmethod
    def _fault_of(name: str, image: Any, reference: np.ndarray | None) -> str | None:
        if isinstance(image, Unreadable):
            return str(image)
        if reference is not None and image.shape != reference.shape:
            return (f"{name}: it has {image.shape[1]}x{image.shape[0]} pixels, the reference "
                    f"{reference.shape[1]}x{reference.shape[0]}")
        if reference is not None and image.dtype != reference.dtype:
            return f"{name}: its pixels are of {image.dtype}, those of the reference of {reference.dtype}"
        return None


def _is_cut(vectors: np.ndarray, cut_score: float) -> bool:
    """By the rule of cudaxcorrfield: the median score, without windows that are masked or flat."""
    scores = np.sort(vectors["score"][~np.isin(vectors["status"], (2, 4))])
    return scores.size > 0 and float(scores[scores.size // 2]) < cut_score


def _summary(number: int, vectors: np.ndarray) -> str:
    good = vectors[vectors["status"] == 0]
    counted = np.count_nonzero(vectors["status"] != 2)
    share = 100 * good.size / counted if counted else 0
    if not good.size:
        return f"{number}: no window was found"
    return (f"{number}: dx {good['dx'].mean():.3f} dy {good['dy'].mean():.3f} "
            f"rms {np.sqrt(np.mean(good['dx'] ** 2 + good['dy'] ** 2)):.3f} valid {share:.1f} %")


def run(options: argparse.Namespace) -> int:
    for option in ("map", "background"):
        if getattr(options, option) and not options.plot:
            raise Unreadable(f"--{option} is of a plot: it needs --plot")
    series = open_series(options.inputs)
    several = not options.ensemble and (series.count is None or series.count > 2)
    measuring = _Measuring(options)
    writers = {path: open_writer(path, several) for path in dict.fromkeys(options.output)}
    if options.plot:
        writers[options.plot] = Plots(pathlib.Path(options.plot), several, options.map or "magnitude",
                                      options.background or "reference")
    outputs = Outputs(writers)
    measured = 0
    try:
        for field in measuring.fields(series):
            measured += 1
            outputs.write(field)
            # The scores of an ensemble's pairs are averaged: low ones are what it is for.
            cut = not options.ensemble and _is_cut(field.vectors, options.cut_score)
            if cut:
                say(f"{field.name}: a cut, it seems: half of the windows score less than {options.cut_score:g}")
            if not options.quiet:
                with beside_the_bar():
                    print(_summary(field.number, field.vectors) + " cut" * cut)
    finally:
        outputs.close()
    if not measured:
        raise Unreadable(f"{' '.join(options.inputs)}: there are no two images to compare")
    return 2 if measuring.broken or outputs.broken else 0
