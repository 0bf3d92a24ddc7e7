# SPDX-License-Identifier: LGPL-2.1-or-later
"""`xcorr studio`: a page in the browser where templates are cut, and found in the running picture."""
from __future__ import annotations

import argparse
import importlib
from typing import Any


def add_to(commands: Any) -> None:
    parser = commands.add_parser("studio", help="a page in the browser: draw a box, see it found, choose the threshold")
    parser.add_argument("inputs", nargs="*", default=["."], metavar="INPUT", help="a video, a picture, a folder of "
                        "them, an address such as rtsp://..., the number of a camera, or a fleet's Redis server: "
                        "redis://... (this folder)")
    parser.add_argument("-t", "--template", action="append", default=[], metavar="FILE",
                        help="a template to begin with; may "
                        "be repeated")
    parser.add_argument("--templates", default="xcorr-templates", metavar="FOLDER", help="where boxes that are drawn "
                        "become files (%(default)s)")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 (auto)")
    parser.add_argument("--port", type=_port, default=8420, metavar="N", help="0: any that is free (%(default)s)")
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="which others may reach the page: "
                        "0.0.0.0 for all, without encryption (%(default)s: only this machine)")
    parser.add_argument("--video", choices=("auto", "mjpeg", "webrtc"), default="auto",
                        help="how what plays gets to the page: "
                        "as single pictures, or by WebRTC, which takes a small part of the network and more of the "
                        "CPU; auto is WebRTC for pages on other machines where GStreamer has it (%(default)s)")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    parser.set_defaults(run=run)


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number < 2 ** 16:
        raise argparse.ArgumentTypeError(f"{number} is no port: 0 to 65535")
    return number


def run(options: argparse.Namespace) -> int:
    # What it needs, GStreamer, aiohttp and asyncio, no other subcommand does.
    import asyncio

    asyncio.run(importlib.import_module("xcorr.studio.server").serve(options))
    return 0
