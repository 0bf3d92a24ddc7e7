# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which subcommand, and how it ends."""
from __future__ import annotations

import argparse
import importlib
import os
import sys
from typing import Sequence

from .. import __version__
from ..field.images import Unreadable, named, say
from . import cut, doctor, find, pipeline, studio, track

_EPILOG = """
xcorr COMMAND --help says more. The exit status is 0 where something was found or done, 1 where nothing was found, 2
where something could not be done: what, is said on standard error.
"""

#: Commands of their own, which `xcorr` calls with the arguments as they are.
_OTHERS = {"field": ("xcorr.field.command", "measures how each part of an image has moved (as xcorr-field)"),
           "archive": ("xcorr.archive.__main__", "searches many recordings on a Ray cluster"),
           "fleet": ("xcorr.fleet.__main__", "follows many cameras on a Ray cluster")}


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="xcorr", epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
                                   description="Finds templates in images, videos and cameras.")
    made.add_argument("--version", action="version", version=f"xcorr {__version__}")
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in (find, track, studio, pipeline, cut, doctor):
        module.add_to(commands)
    for name, (_, text) in _OTHERS.items():
        commands.add_parser(name, help=text, add_help=False)
    return made


def joined(words: list[str]) -> list[str]:
    """With angles that begin with a minus where argparse does not take them for an option."""
    made: list[str] = []
    for word in words:
        if made and made[-1] == "--angles" and word.startswith("-"):
            made[-1] += "=" + word
        else:
            made.append(word)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given and given[0] in _OTHERS:
        result = importlib.import_module(_OTHERS[given[0]][0]).main(given[1:], f"xcorr {given[0]}")
        if isinstance(result, str):
            print(result, file=sys.stderr)
            return 1
        return int(result or 0)
    options = parser().parse_args(joined(given))
    try:
        return int(options.run(options))
    except BrokenPipeError:  # the reader, such as head, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (Unreadable, ImportError, OSError, ValueError, TypeError, RuntimeError, MemoryError) as error:
        say(named(error.filename, error) if isinstance(error, OSError) and error.filename else error, "xcorr")
        return 2
    except KeyboardInterrupt:
        return 130  # as shells have it
