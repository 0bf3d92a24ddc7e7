# SPDX-License-Identifier: LGPL-2.1-or-later
"""`xcorr cut`: a part of an image as a template."""
from __future__ import annotations

import argparse
import pathlib
from typing import Any

from ..field.images import Unreadable, library, named
from .options import box


def add_to(commands: Any) -> None:
    parser = commands.add_parser("cut", help="makes a template of a part of an image")
    parser.add_argument("image", metavar="IMAGE")
    parser.add_argument("box", type=box, metavar="x,y,width,height", help="in pixels")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="such as template.png; PNG loses nothing")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    pillow = library("PIL.Image", "reading images", "pillow")
    x, y, width, height = options.box
    try:
        image = pillow.open(options.image)
        image.load()
    except Exception as error:  # decoders raise all kinds of them for damaged files
        raise Unreadable(named(options.image, error)) from None
    if x + width > image.width or y + height > image.height:
        raise Unreadable(f"{options.image}: it has {image.width}x{image.height} pixels, and the box of {width}x{height} "
                         f"at {x},{y} reaches beyond")
    try:
        image.crop((x, y, x + width, y + height)).save(pathlib.Path(options.output))
    except (OSError, ValueError, KeyError) as error:
        raise Unreadable(named(options.output, error)) from None
    return 0
