#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes docs/transcript.md: installs the package and shows it at work, workers that are killed included.

    transcript.py PLUGINS [--packages]

PLUGINS: the folder of libgstcudaxcorr.so; --packages: only the section about packages is made anew. Needs PyGObject,
redis-server and Debian's tools for packages. Everything is done in a folder of its own; what is shown is what was
printed.
"""
import argparse
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE / "python/tests"))
from ray_workers import MARK, busy, wait_for  # noqa: E402

PAGE = """# A transcript

Everything from the installation to workers that are killed, as it happened on two cores;
[scripts/transcript.py](../scripts/transcript.py) made this page.
`$` begins what was typed, `#` what was done beside it.

"""


class Shell:
    """Runs commands in a folder and keeps what a user would see, without that folder's name."""

    def __init__(self, folder, environment):
        self.folder, self.environment, self.page = folder, environment, PAGE

    def write(self, text):
        self.page += text.replace(f"{self.folder}/", "").replace(os.uname().nodename, "node-1")
        print(text, end="", flush=True)

    def section(self, heading, text):
        self.write(f"## {heading}\n\n{textwrap.fill(text, 120)}\n\n```\n")

    def end(self):
        self.write("```\n\n")

    def begin(self, command):
        """In the background."""
        self.write(f"$ {command}\n")
        return subprocess.Popen(["bash", "-c", f"exec {command}"], cwd=self.folder, env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def run(self, command):
        self.write(f"$ {command}\n")
        done = subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.environment, text=True, check=True,
                              stdout=subprocess.PIPE)
        self.write(done.stdout)

    def program(self, code):
        self.run(f"venv/bin/python - <<'END'\n{code}END")

    def kill(self, process, what):
        os.kill(process, signal.SIGKILL)
        self.write(f"# {what} is killed by SIGKILL\n")


def install(shell):
    shell.section("Installation", "In an environment that sees PyGObject; the checkout is `cudaxcorr`.")
    shell.run("python3 -m venv --system-site-packages venv")
    shell.run("venv/bin/pip install -q './cudaxcorr/python[ray]'")
    shell.program("import xcorr\nprint(xcorr.devices())\n")
    shell.end()


def functions(shell):
    shell.section("Functions", "A part of an image is found again, with the arguments of scikit-image's, OpenCV's and "
                  "SciPy's functions.")
    shell.program("""\
import numpy, xcorr
image = numpy.random.default_rng(0).integers(0, 256, (480, 640), "u1")
part = image[100:164, 200:264]
scores = xcorr.match_template(image, part)
print(scores.shape, scores.dtype, numpy.unravel_index(scores.argmax(), scores.shape), scores.max())
squares = xcorr.matchTemplate(image, part, xcorr.TM_SQDIFF)
print(numpy.unravel_index(squares.argmin(), squares.shape), squares.min())
sums = xcorr.correlate2d(image, part, "full")
print(sums.shape, sums.dtype, sums.max())
""")
    shell.end()


def archive(shell):
    """Three recordings of 2000 frames whose every place is known."""
    out = shell.folder / "results"
    search = ("venv/bin/python -m xcorr.archive search --template part.png --set threshold=0.8 --unit 25 --workers 2 "
              "--out results 1.mp4 2.mp4 3.mp4")
    subprocess.run([shell.folder / "venv/bin/python", "-c", "import videos\nvideos.make_template('part.png')\n"
                    "for seed in 1, 2, 3: videos.make_video(f'{seed}.mp4', seed, 2000)"], cwd=shell.folder,
                   env=shell.environment, check=True)
    shell.section("An archive", "Three drawn recordings of 2000 frames, in which the places of the target are known. "
                  "A worker is killed, and then the whole run; a second run does what is missing.")
    driver = shell.begin(search)
    out.mkdir(exist_ok=True)
    wait_for(lambda: len(list(out.glob("*.parquet"))) >= 20)
    shell.kill(wait_for(lambda: busy(shell.folder, "search_unit"))[0], "a worker")
    wait_for(lambda: len(list(out.glob("*.parquet"))) >= 120)
    shell.kill(driver.pid, "the run itself")
    driver.wait()
    wait_for(lambda: not busy(shell.folder, "search_unit"))
    shell.run("ls results/*.parquet | wc -l")
    shell.run(f"{search} 2>/dev/null")
    shell.run("ls results/*.parquet | wc -l")
    shell.run("venv/bin/python -m xcorr.archive summary results | head -n 6")
    shell.write("# against the truth\n")
    shell.program("""\
import collections, pathlib
from videos import place
from xcorr.archive.summary import table_of
rows = [row for batch in table_of("results").to_batches() for row in batch.to_pylist()]
seen = collections.Counter((row["file"], row["frame"]) for row in rows)
wrong = 0
for row in rows:
    at = place(int(pathlib.Path(row["file"]).stem), row["frame"])
    wrong += [(round(peak["x"]), round(peak["y"])) for peak in row["peaks"]] != ([at] if at else [])
print(f"{6000 - len(seen)} frames lost, {len(rows) - len(seen)} doubled, {wrong} wrong")
""")
    shell.end()


def fleet(shell):
    shell.section("A fleet", "Two recordings, played at their rate, stand for cameras; their results go to streams of "
                  "a Redis server. One camera's worker is killed.")
    (shell.folder / "fleet.yaml").write_text(f"redis: unix:{shell.folder}/redis.socket\ncameras:\n" + "".join(
        f"  {name}:\n    source: filesrc location={shell.folder}/{seed}.mp4 ! decodebin ! identity sync=true\n"
        "    templates: [part.png]\n    settings: {backend: cpu, threshold: 0.8}\n"
        for seed, name in enumerate(("gate", "door"), 1)))
    server = shell.begin("redis-server --port 0 --unixsocket redis.socket --save ''")
    shell.run("cat fleet.yaml")

    def entries(name):
        return int(subprocess.run(["redis-cli", "-s", "redis.socket", "XLEN", f"places:{name}"], cwd=shell.folder,
                                  check=True, text=True, capture_output=True).stdout)

    wait_for(lambda: (shell.folder / "redis.socket").exists())
    cameras = shell.begin("venv/bin/python -m xcorr.fleet fleet.yaml --workers 2")
    try:
        wait_for(lambda: all(entries(name) > 50 for name in ("gate", "door")))
        shell.run("redis-cli -s redis.socket XREVRANGE places:gate + - COUNT 1 | tr '\\n' ' ' | cut -c1-300")
        counts = {name: entries(name) for name in ("gate", "door")}
        shell.kill(busy(shell.folder, "CameraActor.follow")[0], "the worker of a camera")
        wait_for(lambda: all(entries(name) > counts[name] + 100 for name in counts))
        shell.program("""\
import json, redis
server = redis.Redis(unix_socket_path="redis.socket")
for name in "gate", "door":
    found = server.xrange(f"places:{name}")
    for (before, _), (_, entry), (after, _) in zip(found, found[1:], found[2:]):
        if b"gap" in entry:
            gone = (int(after.split(b"-")[0]) - int(before.split(b"-")[0])) / 1000
            print(name, json.loads(entry[b"gap"])["reason"], f"again: {gone:.2f} s without frames")
    print(name, len(found), "entries,", sum(b"gap" in entry for _, entry in found), "gap records")
""")
    finally:
        for process in cameras, server:
            process.terminate()
            process.wait()
    shell.end()


def packages(shell):
    shell.section("Packages", "Debian's, of the CPU alone: without the profile `pkg.cudaxcorr.nocuda` kernels for all "
                  "kinds of GPU come on top.")
    shutil.copytree(SOURCE, shell.folder / "copy/cudaxcorr", symlinks=True,
                    ignore=shutil.ignore_patterns(".*", "build*", "__pycache__"))
    shell.run("cd copy/cudaxcorr && DEB_BUILD_PROFILES=pkg.cudaxcorr.nocuda DEB_BUILD_OPTIONS='nocheck noautodbgsym' "
              "dpkg-buildpackage -b -us -uc >../log 2>&1")
    shell.run("cd copy && ls -s --block-size=K *.deb")
    shell.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plugins", type=pathlib.Path)
    parser.add_argument("--packages", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="xcorr-transcript-") as name:
        folder = pathlib.Path(name).resolve()
        (folder / "cudaxcorr").symlink_to(SOURCE)
        environment = {**os.environ, MARK: str(folder), "GST_PLUGIN_PATH_1_0": str(options.plugins.resolve()),
                       "GST_REGISTRY_1_0": str(folder / "registry"), "PYTHONPATH": str(SOURCE / "python/tests"),
                       "PYTHONDONTWRITEBYTECODE": "1"}
        shell = Shell(folder, environment)
        for part in (packages,) if options.packages else (install, functions, archive, fleet, packages):
            part(shell)
    page = SOURCE / "docs/transcript.md"
    made = sections(shell.page)
    kept = sections(page.read_text(encoding="utf-8")) if options.packages else {}
    page.write_text("\n".join([PAGE.rstrip() + "\n", *({**kept, **made}).values()]), encoding="utf-8")


def sections(page):
    """Of a page, by their headings."""
    parts = re.split(r"^(?=## )", page, flags=re.MULTILINE)[1:]
    return {part.split("\n", 1)[0]: part.rstrip() + "\n" for part in parts}


main()
