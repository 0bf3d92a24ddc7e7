# SPDX-License-Identifier: LGPL-2.1-or-later
"""The commands of `python -m xcorr.archive`."""
import argparse
import os
import sys

from .._missing import need


def arguments(given, program):
    parser = argparse.ArgumentParser(prog=program, description="Searches videos for templates.")
    commands = parser.add_subparsers(dest="command", required=True)
    search = commands.add_parser("search", help="searches what has not been searched yet")
    search.add_argument("files", nargs="+", metavar="FILE", help="a video, or a folder or TIFF of images")
    search.add_argument("--template", action="append", required=True, help="an image to look for; may be repeated")
    search.add_argument("--out", required=True, metavar="DIR", help="the folder of results, for all workers the same")
    search.add_argument("--set", action="append", default=[], metavar="PROPERTY=VALUE", help="of the element cudaxcorr")
    search.add_argument("--address", help="of a Ray cluster; by default one of this machine")
    search.add_argument("--workers", type=int, help="of a cluster of this machine; by default one a core")
    search.add_argument("--gpus-per-worker", type=float, default=0, metavar="SHARE", help="by default CPUs work")
    search.add_argument("--unit", type=int, metavar="FRAMES",
                        help="at least so many at once; by default 500, on GPUs 5000")
    search.add_argument("--white", type=int, default=65535, metavar="VALUE",
                        help="which of 16-bit stacks becomes 255, such as 4095; brighter ones do, too")
    commands.add_parser("summary", help="prints what was found").add_argument("folder", metavar="DIR")
    return parser.parse_args(given)


def search(options):
    from . import cluster, units
    from .search import readable
    from .._gstreamer import digest, matcher
    from .._ray import connect
    units.pyarrow()
    tqdm = need("tqdm", "tqdm", "pip install 'xcorr[ray]', or tqdm itself")
    settings = dict(pair.split("=", 1) for pair in options.set)
    settings.setdefault("backend", "cuda" if options.gpus_per_worker else "cpu")
    if settings.get("track", "false") != "false":
        raise ValueError("units are searched on their own, so targets cannot be followed: leave 'track' out")
    matcher(options.template, settings)  # refuses what is not a property
    if not 1 <= options.white <= 65535:
        raise ValueError("--white is 1 to 65535")
    templates = tuple(readable(template) for template in options.template)
    wanted = units.Search(templates, tuple(sorted(settings.items())), digest(templates, {**settings, "white": options.white}), options.white)
    os.makedirs(options.out, exist_ok=True)
    connect(options.address, options.workers)
    with tqdm.tqdm(unit=" frames", unit_scale=True, smoothing=0.05) as bar:
        def show(searched, before, known):
            bar.total, bar.initial = known, before
            bar.n = before + searched
            bar.refresh()
        failures = {}
        def fail(file, reason):
            if failures.setdefault(file, reason) is reason:
                bar.write(f"{file}: {reason}", file=sys.stderr)
        warned = set()
        def warn(file, warning):
            if (file, warning) not in warned:
                warned.add((file, warning))
                bar.write(f"{file}: {warning}", file=sys.stderr)
        searched, failed = cluster.run([os.path.abspath(file) for file in options.files], wanted,
                                       os.path.abspath(options.out), least=options.unit, gpus=options.gpus_per_worker,
                                       on_progress=show, on_failure=fail, on_warning=warn)
    print(f"{searched} frames searched, {len(failed)} of {len(options.files)} files failed")
    return bool(failed)


def main(given=None, program="python -m xcorr.archive"):
    options = arguments(given, program)
    try:
        if options.command == "search":
            return search(options)
        from .summary import print_summary
        return print_summary(options.folder)
    except (ImportError, OSError, ValueError, RuntimeError) as error:
        return f"xcorr.archive: {error}"


if __name__ == "__main__":
    sys.exit(main())
