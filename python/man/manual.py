#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes the manual pages of `xcorr` and its subcommands from the parsers of the package that is installed:

    manual.py FOLDER

A page each, so that `man xcorr find` shows that of `xcorr find`. Those beside this file are installed; a test compares.
"""
import argparse
import pathlib
import re
import sys

from xcorr.command.main import STATUS, parser


def escaped(text):
    """As roff has it, for any place in a line."""
    return re.sub(r"^([.'])", r"\\&\1", text.replace("\\", r"\e").replace("-", r"\-"), flags=re.MULTILINE)


def paragraphs(text):
    """Lines of text are filled, those that are indented stay as they are."""
    lines, kept = [], False
    for line in text.strip("\n").split("\n"):
        if line.startswith("  ") != kept:
            kept = not kept
            lines.append(".nf" if kept else ".fi")
        lines.append(escaped(line) if line else ".PP")
    return "\n".join([*lines, *[".fi"] * kept])


def value(action):
    """What follows an option."""
    if action.nargs == 0:
        return ""
    return action.metavar or (",".join(map(str, action.choices)) if action.choices else action.dest.upper())


def named(action):
    """An option, or an argument by its place."""
    name = escaped(str(value(action)))
    if action.option_strings:
        options = ", ".join(rf"\fB{escaped(each)}\fR" for each in action.option_strings)
        return options + (rf" \fI{name}\fR" if name else "")
    return rf"\fI{name}\fR"


def explained(actions):
    return [f".TP\n{named(action)}\n{escaped((action.help or '') % {**vars(action), 'prog': 'xcorr'})}"
            for action in actions]


def subcommands(made):
    """(name, what it does in a line, its parser) of each."""
    for action in made._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help for choice in action._choices_actions}
            yield from ((name, helps[name], each) for name, each in action.choices.items())


def synopsis(made, words):
    required = [action for action in made._actions
                if action.required and not isinstance(action, argparse._SubParsersAction)]
    arguments = [named(action).rpartition(", ")[2] + (" ..." if action.nargs == "+" else "")
                 for action in sorted(required, key=lambda action: not action.option_strings)]
    commands = [rf"\fI{each.metavar}\fR ..." for each in made._actions if isinstance(each, argparse._SubParsersAction)]
    return " ".join([rf"\fB{escaped(words)}\fR [\fIOPTIONS\fR]", *arguments, *commands])


def page(words, what, made, others):
    name = words.replace(" ", "-")
    parts = [r'.\" SPDX-License-Identifier: LGPL-2.1-or-later', r'.\" Written by python/man/manual.py.',
             f'.TH {escaped(name.upper())} 1 "" "xcorr" "User Commands"',
             ".SH NAME", rf"{escaped(name)} \- {escaped(what)}", ".SH SYNOPSIS", synopsis(made, words),
             ".SH DESCRIPTION", paragraphs(made.description or f"{what[0].upper()}{what[1:]}.")]
    if made.epilog and " " in words:
        parts += [".PP", paragraphs(made.epilog)]
    for group in made._action_groups:
        actions = [each for each in group._group_actions if not isinstance(each, argparse._SubParsersAction)]
        if actions:
            parts += [f".SH {escaped(group.title.upper())}", *explained(actions)]
    commands = list(subcommands(made))
    if commands:
        parts += [".SH COMMANDS", *(f".TP\n\\fB{escaped(name)}\\fR\n{escaped(text)}" for name, text, _ in commands)]
    for name, _, each in commands if " " in words else ():
        parts += [f".SH {escaped(words.upper())} {name.upper()}", synopsis(each, f"{words} {name}"),
                  *explained(each._actions)]
    parts += [".SH EXIT STATUS", *(f".TP\n{status}\n{escaped(text)}" for status, text in STATUS.items()),
              ".SH SEE ALSO", *(f".BR {escaped(other)} (1)" for other in others)]
    return "\n".join(parts) + "\n"


def pages():
    """By the names of their files."""
    root = parser()
    commands = list(subcommands(root))
    everything = ["xcorr", *(f"xcorr-{name}" for name, _, _ in commands)]
    made = {"xcorr.1": page("xcorr", "finds templates in images, videos and cameras", root, everything[1:])}
    for name, text, each in commands:
        made[f"xcorr-{name}.1"] = page(f"xcorr {name}", text, each, everything[:1])
    return made


if __name__ == "__main__":
    for file, text in pages().items():
        pathlib.Path(sys.argv[1], file).write_text(text, encoding="utf-8")
