# SPDX-License-Identifier: LGPL-2.1-or-later
"""`xcorr find`: where templates are in images, folders, videos and what cameras show."""
from __future__ import annotations

import argparse
import dataclasses
import json
import math
import pathlib
from typing import Any, Iterator

import numpy as np

from .._matcher import Matcher
from ..field.images import SUFFIXES, Series, Unreadable, in_folder, library, named, of_files, of_video, read_image, say
from .options import Output, add_output, add_search, settings
from .progress import beside_the_bar, progress

_COLUMNS = {"image": "<24", "template": "<16",
            **dict.fromkeys(("x", "y", "width", "height", "score", "angle", "scale"), ">8")}

_EPILOG = """
Examples:
  xcorr find board.png -t part.png
  xcorr find photos/ -t part.png --angles any --scales 0.8,1.25 --format csv > found.csv
  xcorr find 0 -t part.png --format json | head -n 100

Pixels that are not opaque in a template do not count. x and y are the upper left corner of an upright match, and of a
turned one that of its upright bounds; angles are degrees, counter-clockwise. As grep, it ends with 0 where something
was found, with 1 where nothing was, with 2 where an image could not be read.
"""


def add_to(commands: Any) -> None:
    parser = commands.add_parser("find", help="where templates are in images, folders, videos and what cameras show",
                                 epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inputs", nargs="+", metavar="INPUT", help="an image, a folder of images, a video, the "
                        "number of a camera, or - for what comes by a pipe")
    add_search(parser)
    parser.add_argument("--mask", action="append", default=[], metavar="FILE", help="an image of a template's size; "
                        "where it is black the template does not count; one for each template, in their order")
    parser.add_argument("--min-confidence", type=float, metavar="P", help="how sure it must be that a place is right, "
                        "0 to 1, or it is not written; with it each match has its confidence")
    group = add_output(parser)
    group.add_argument("--save", metavar="FILE", help="the image with boxes; of several images, a folder for them")
    group.add_argument("--show", action="store_true", help="show the image with boxes")
    parser.set_defaults(run=run)


def series_of(text: str, in_color: bool) -> Series:
    """Of one input. Raises Unreadable."""
    if text.isdigit() and not pathlib.Path(text).exists():
        return of_video(int(text), in_color)
    path = pathlib.Path("/dev/stdin" if text == "-" else text)
    if not path.exists():
        raise Unreadable(f"{path}: there is no such file")
    if path.is_dir():
        files = in_folder(path)
        if not files:
            raise Unreadable(f"{path}: a folder without images; they end with {', '.join(sorted(SUFFIXES))}")
        return of_files(files, in_color)
    return of_files([path], in_color) if path.suffix.lower() in SUFFIXES else of_video(path, in_color)


def read_template(path: pathlib.Path, in_color: bool) -> tuple[np.ndarray, np.ndarray | None]:
    """Its luma or colour, and which pixels count where some are transparent. Raises Unreadable."""
    pixels = read_image(path, in_color)
    pillow = library("PIL.Image", "reading images", "pillow")
    try:
        with pillow.open(path) as image:
            if image.mode not in ("LA", "RGBA", "PA") and "transparency" not in image.info:
                return pixels, None
            alpha = np.asarray(image.convert("RGBA"))[..., 3]
    except Exception as error:  # decoders raise all kinds of them for damaged files
        raise Unreadable(named(path, error)) from None
    if not alpha.any():
        raise Unreadable(f"{path}: it is transparent everywhere, so no pixel counts")
    mask = (alpha > 0) & (alpha >= min(128, (int(alpha.max()) + 1) // 2))
    return pixels, None if mask.all() else mask


def with_mask(template: np.ndarray, opaque: np.ndarray | None, path: str) -> np.ndarray:
    """Which pixels count, by a file too. Raises Unreadable."""
    mask = read_image(pathlib.Path(path)) != 0
    if mask.shape != template.shape:
        raise Unreadable(f"{path}: it has {mask.shape[1]}x{mask.shape[0]} pixels, its template "
                         f"{template.shape[1]}x{template.shape[0]}")
    return mask if opaque is None else mask & opaque


def rounded(value: Any, digits: int) -> float:
    """Without a sign where it is 0."""
    return round(float(value), digits) + 0.0


def described(peak: Any, labels: list[str]) -> dict[str, Any]:
    pose = peak["pose"]
    confidence = {"confidence": rounded(peak["confidence"], 4)} if peak["confidence"] >= 0 else {}
    return {"template": labels[int(peak["template_index"])], "x": rounded(peak["x"], 3), "y": rounded(peak["y"], 3),
            "width": int(peak["width"]), "height": int(peak["height"]), "score": float(peak["score"]), **confidence,
            "angle": rounded(pose["angle"], 3), "scale": rounded(pose["scale"], 5),
            "corners": [[rounded(each, 3) for each in corner] for corner in corners(pose)]}


def corners(pose: Any) -> list[tuple[float, float]]:
    """Upper left, upper right, lower right and lower left one, as the template lies there."""
    turn = math.radians(float(pose["angle"]))
    cos, sin = math.cos(turn), math.sin(turn)
    half = float(pose["width"]) / 2, float(pose["height"]) / 2
    return [(float(pose["center_x"]) + across * half[0] * cos + down * half[1] * sin,
             float(pose["center_y"]) - across * half[0] * sin + down * half[1] * cos)
            for across, down in ((-1, -1), (1, -1), (1, 1), (-1, 1))]


def with_boxes(image: np.ndarray, matches: list[dict[str, Any]]) -> Any:
    """An image of Pillow's."""
    draw = library("PIL.ImageDraw", "drawing boxes", "pillow")
    pillow = library("PIL.Image", "drawing boxes", "pillow")
    top = {1: 255, 2: 65535}.get(image.dtype.itemsize, float(image.max()) or 1.0)
    drawn = pillow.fromarray((image * (255 / top)).astype("u1") if top != 255 else image).convert("RGB")
    pen = draw.Draw(drawn)
    for match in matches:
        outline = [tuple(corner) for corner in match["corners"]]
        pen.line([*outline, outline[0]], fill=(255, 60, 30), width=2)
        pen.text((outline[0][0] + 3, outline[0][1] + 3), f"{match['template']} {match['score']:.2f}",
                 fill=(255, 60, 30))
    return drawn


class _Images:
    """All inputs' images; what cannot be read is named and left out."""

    def __init__(self, inputs: list[str], in_color: bool) -> None:
        self.broken = 0
        self._series = []
        for each in inputs:
            try:
                self._series.append(series_of(each, in_color))
            except Unreadable as error:
                self.fail(error)
        counts = [each.count for each in self._series]
        self.count = None if None in counts else sum(filter(None, counts))

    def fail(self, what: object) -> None:
        self.broken += 1
        say(what)

    def __iter__(self) -> Iterator[tuple[str, np.ndarray]]:
        for series in self._series:
            for name, image in series:
                if isinstance(image, Unreadable):
                    self.fail(image)
                else:
                    yield name, image


def _save(path: pathlib.Path, several: bool, name: str, image: Any) -> None:
    if several:
        path.mkdir(parents=True, exist_ok=True)
        path = path / f"{pathlib.Path(name).stem if '.' in name.split(' ')[0] else name}.png".replace(" ", "-")
    image.save(path)


def run(options: argparse.Namespace) -> int:
    in_color = options.match_on.startswith("color")
    templates, masks = zip(*(read_template(pathlib.Path(each), in_color) for each in options.template))
    if options.mask:
        if len(options.mask) != len(templates):
            raise Unreadable(f"--mask is there {len(options.mask)} times, --template {len(templates)} times")
        masks = tuple(map(with_mask, templates, masks, options.mask))
    labels = [pathlib.Path(each).stem for each in options.template]
    wanted = settings(options)
    if options.min_confidence is not None:
        wanted = dataclasses.replace(wanted, min_confidence=options.min_confidence)
    matcher = Matcher(templates, masks if any(mask is not None for mask in masks) else None, device=options.device,
                      colours="rgb" if in_color else "", settings=wanted)
    columns = _COLUMNS if options.min_confidence is None else {**_COLUMNS, "confidence": ">10"}
    images = _Images(options.inputs, in_color)
    with Output(options, columns) as results:
        for name, image in progress(images, images.count, options.quiet):
            try:
                matches = [described(peak, labels) for peak in matcher.match(image)]
            except (ValueError, TypeError) as error:
                images.fail(f"{name}: {error}")
                continue
            with beside_the_bar():
                results.write(json.dumps({"image": name, "matches": matches}),
                              [(name, *(match[column] for column in list(columns)[1:])) for match in matches])
            if options.save or options.show:
                drawn = with_boxes(image, matches)
                if options.save:
                    _save(pathlib.Path(options.save), images.count != 1, name, drawn)
                if options.show:
                    drawn.show(title=name)
    return 2 if images.broken else 0 if results.count else 1
