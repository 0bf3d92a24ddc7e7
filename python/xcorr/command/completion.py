# SPDX-License-Identifier: LGPL-2.1-or-later
"""`xcorr completion`: what makes a shell complete the command's options and files, by shtab."""
from __future__ import annotations

import argparse
from typing import Any, Iterator

from ..field.images import library

_EPILOG = """
bash reads it from ~/.local/share/bash-completion/completions/xcorr, zsh from a file _xcorr in a folder of fpath:
  xcorr completion bash > ~/.local/share/bash-completion/completions/xcorr
"""

#: Which arguments are files and folders: by what their values are called.
_FILES, _FOLDERS = ("FILE", "IMAGE", "INPUT", "VIDEO"), ("DIR",)


def add_to(commands: Any) -> None:
    parser = commands.add_parser("completion", help="prints what makes a shell complete this command", epilog=_EPILOG,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"))
    parser.set_defaults(run=run)


def actions_of(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Its own and those of its subcommands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for each in dict.fromkeys(action.choices.values()):
                yield from actions_of(each)


def run(options: argparse.Namespace) -> int:
    shtab = library("shtab", "completion", "shtab")
    for action in actions_of(options.parser):
        kind = shtab.FILE if action.metavar in _FILES else shtab.DIR if action.metavar in _FOLDERS else None
        if kind:
            action.complete = kind  # type: ignore[attr-defined]
    print(shtab.complete(options.parser, options.shell))
    return 0
