#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Includes go down only: checks a folder of sources against the order of its layers.

    arrows_test.py ROOT LAYERS

LAYERS is a text file. Each line is a layer, highest first: folders below ROOT, or single files,
separated by blanks. A file belongs to the longest entry that it lies in. Files of one entry include
each other freely; those of neighbours on a line may too, but not in a circle. An include of a layer
above is an error, and so is a file that no entry has. Prints how many includes go from which entry
to which, "arrows"."""
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]', re.MULTILINE)
SUFFIXES = {".h", ".hpp", ".c", ".cpp", ".cu", ".cuh", ".inc"}


def read_layers(text):
    """The layer of each entry, counted from the top."""
    lines = [line.split("#")[0].split() for line in text.splitlines()]
    lines = [line for line in lines if line]
    return {entry.rstrip("/"): layer for layer, line in enumerate(lines) for entry in line}


def entry_of(file, layers):
    """The entry that a path relative to the root belongs to, or None."""
    for candidate in [file, *file.parents]:
        if candidate.as_posix() in layers:
            return candidate.as_posix()
    return None


def target_of(name, includer, root):
    """The file that an include means, relative to the root; None when it lies elsewhere."""
    for folder in [includer.parent, root, root / "include"]:
        file = (folder / name).resolve()
        if file.is_file() and file.is_relative_to(root):
            return file.relative_to(root)
    return None


def circles(arrows, layers):
    """Entries of one layer that can be reached from themselves along arrows inside the layer."""
    beside = {}
    for source, target in arrows:
        if layers[source] == layers[target] and source != target:
            beside.setdefault(source, set()).add(target)

    def reached(start):
        seen, waiting = set(), [start]
        while waiting:
            for entry in beside.get(waiting.pop(), ()):
                if entry not in seen:
                    seen.add(entry)
                    waiting.append(entry)
        return seen

    return [entry for entry in beside if entry in reached(entry)]


def check(root, layers):
    """The arrows with their counts, and what is wrong."""
    root = root.resolve()
    arrows, wrong = Counter(), []
    for path in sorted(p for p in root.rglob("*") if p.suffix in SUFFIXES):
        file = path.relative_to(root)
        source = entry_of(file, layers)
        if source is None:
            wrong.append(f"{file} belongs to no layer")
            continue
        for name in INCLUDE.findall(path.read_text()):
            included = target_of(name, path, root)
            target = included and entry_of(included, layers)
            if target is None:
                continue
            arrows[source, target] += 1
            if layers[target] < layers[source]:
                wrong.append(f"{file} includes {included}: up, from {source} to {target}")
    wrong += [f"{entry} includes itself through its neighbours" for entry in circles(arrows, layers)]
    return arrows, wrong


def check_the_check():
    """Each mistake is seen: a folder of four files, with one of them at a time."""
    good = {"top.cpp": '#include "a/a.h"\n#include <vector>\n', "a/a.h": "",
            "b/b.h": '#include "a/a.h"\n', "low/low.h": ""}
    mistakes = {"low/low.h": '#include "b/b.h"\n', "a/a.h": ' # include "b/b.h"\n',
                "new/new.h": "", "low/up.cu": '#include "../top.cpp"\n'}
    layers = read_layers("top.cpp  # the highest\na b\nlow/\n")
    for name, text in [(None, None), *mistakes.items()]:
        with tempfile.TemporaryDirectory() as folder:
            for file, content in ({**good, name: text} if name else good).items():
                path = Path(folder, file)
                path.parent.mkdir(exist_ok=True)
                path.write_text(content)
            arrows, wrong = check(Path(folder), layers)
        assert bool(wrong) == bool(name), f"{name}: {wrong}"
        assert arrows["top.cpp", "a"] == arrows["b", "a"] == 1, arrows


def main():
    root, declaration = map(Path, sys.argv[1:])
    check_the_check()
    layers = read_layers(declaration.read_text())
    arrows, wrong = check(root, layers)
    for (source, target), count in sorted(arrows.items(), key=lambda arrow: (
            layers[arrow[0][0]], layers[arrow[0][1]], arrow)):
        print(f"{count:4} {source} -> {target}")
    wrong += [f"{entry}: there is no such file or folder" for entry in layers
              if not (root / entry).exists()]
    print("\n".join(wrong) or f"{sum(arrows.values())} arrows, none goes up")
    return 1 if wrong or not arrows else 0


if __name__ == "__main__":
    sys.exit(main())
