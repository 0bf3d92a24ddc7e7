# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which subcommand, and how it ends."""
from __future__ import annotations

import argparse
import os
import sys
from typing import Sequence

from .. import __version__
from ..archive import command as archive
from ..field import command as field
from ..field.images import Unreadable, named, say
from ..fleet import command as fleet
from . import completion, cut, doctor, find, pipeline, studio, track, watch

#: What the exit status says.
STATUS = {0: "something was found, or done", 1: "nothing was found",
          2: "something could not be read, written or understood: standard error says what; the rest went on",
          130: "it was interrupted"}

_EPILOG = "\n".join(["xcorr COMMAND --help says more. Exit status:",
                     *(f"  {key:<4} {text}" for key, text in STATUS.items())])


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="xcorr", epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
                                   description="Finds templates in images, videos and cameras.")
    made.add_argument("--version", action="version", version=f"xcorr {__version__}")
    made.set_defaults(parser=made)
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in (find, track, watch, studio, pipeline, cut, field, archive, fleet, doctor, completion):
        module.add_to(commands)
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
    options = parser().parse_args(joined(list(sys.argv[1:] if arguments is None else arguments)))
    try:
        status = int(options.run(options))
        if sys.stdout:  # it may have been closed from the start
            sys.stdout.flush()
        return status
    except BrokenPipeError:  # the reader, such as head, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (Unreadable, ImportError, OSError, ValueError, TypeError, RuntimeError, MemoryError) as error:
        say(named(error.filename, error) if isinstance(error, OSError) and error.filename else error)
        return 2
    except KeyboardInterrupt:
        return 130  # as shells have it
