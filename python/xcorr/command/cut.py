# SPDX-License-Identifier: LGPL-2.1-or-later
"""`xcorr cut`: a part of an image as a template, and which of its pixels stay in others."""
from __future__ import annotations

import argparse
import pathlib
from typing import Any

import numpy as np

from .._learn import learn_mask
from ..field.images import Unreadable, library, named
from .options import box


def add_to(commands: Any) -> None:
    parser = commands.add_parser("cut", help="makes a template of a part of an image")
    parser.add_argument("image", metavar="IMAGE")
    parser.add_argument("box", type=box, metavar="x,y,width,height", help="in pixels")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="such as template.png; PNG loses nothing")
    parser.add_argument("--learn", action="append", default=[], metavar="IMAGE",
                        help="another image that shows the same there: what is different becomes transparent, so that "
                             "it does not count; may be repeated")
    parser.add_argument("--tolerance", type=float, default=12.0, metavar="LEVELS",
                        help="with --learn: how many gray levels the same may differ by (%(default)g)")
    parser.set_defaults(run=run)


def part_of(path: str, place: tuple[int, int, int, int]) -> Any:
    pillow = library("PIL.Image", "reading images", "pillow")
    x, y, width, height = place
    try:
        image = pillow.open(path)
        image.load()
    except Exception as error:  # decoders raise all kinds of them for damaged files
        raise Unreadable(named(path, error)) from None
    if x + width > image.width or y + height > image.height:
        raise Unreadable(f"{path}: it has {image.width}x{image.height} pixels, and the box of {width}x{height} "
                         f"at {x},{y} reaches beyond")
    return image.crop((x, y, x + width, y + height))


def sample_of(path: str, part: Any) -> Any:
    if part.mode.startswith(("I", "F")):
        raise Unreadable(f"{path}: --learn is for images of 8 bits")
    return part.convert("RGB")


def run(options: argparse.Namespace) -> int:
    part = part_of(options.image, options.box)
    if options.learn:
        samples = [sample_of(path, part_of(path, options.box)) for path in (options.image, *options.learn)]
        try:
            mask = learn_mask([np.asarray(each) for each in samples], options.tolerance)
        except ValueError as error:
            raise Unreadable(f"{options.image}: {error}") from None
        part = samples[0]
        part.putalpha(library("PIL.Image", "reading images", "pillow").fromarray(mask))
    try:
        part.save(pathlib.Path(options.output))
    except (OSError, ValueError, KeyError) as error:
        raise Unreadable(named(options.output, error)) from None
    return 0
