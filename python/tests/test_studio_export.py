# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the studio exports does what its page shows: lines, programs, settings for a fleet."""
import asyncio
import pathlib
import shlex
import shutil
import subprocess
import sys

import pytest

from studio_client import clip, needs_element, opened, run  # noqa: F401
from xcorr._gstreamer import matcher
from xcorr.fleet import config
from xcorr.studio import export
from xcorr.studio.search import Search
import videos

COMPILER = shutil.which("cc") or shutil.which("gcc")


@needs_element
@pytest.mark.skipif(not COMPILER or not shutil.which("pkg-config"), reason="no compiler for C, or no pkg-config")
def test_what_is_exported_does_the_same(tmp_path, clip):
    async def scenario(client, studio):
        page = await opened(client)
        assert not any(studio.state()["export"].values())
        await page.draw("a 'quoted' one")
        await page.send("set", settings={"threshold": 0.8})
        exported = (await page.next("state"))[0]["export"]
        assert {"threshold=0.8", "track=true", "tracker=template"} <= set(shlex.split(exported["line"]))
        program = tmp_path / "program.py"
        program.write_text(exported["python"])
        (tmp_path / "search.c").write_text(exported["c"])
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "gstreamer-1.0"], check=True, text=True,
                               stdout=subprocess.PIPE).stdout.split()
        subprocess.run([COMPILER, "-std=c11", "-Wall", "-Wextra", "-Werror", tmp_path / "search.c", "-o",
                        tmp_path / "search", *flags], check=True)
        for command in exported["line"], f"{sys.executable} {program}", str(tmp_path / "search"):
            done = await asyncio.create_subprocess_shell(command, stdout=subprocess.PIPE)
            lines = (await done.communicate())[0].decode().splitlines()
            assert done.returncode == 0 and len(lines) > 40, command
            assert "a _quoted_ one" in lines[20]
    run(tmp_path, [clip], scenario)


def test_texts_in_what_is_exported(tmp_path):
    name = "a \"b\" \\ ??/ %d \t ü\x01\n{}"
    text = export.c_text(name + "1")
    (tmp_path / "text.c").write_text(f"#include <stdio.h>\nint main(void) {{ return puts({text}) < 0; }}")
    if COMPILER:
        subprocess.run([COMPILER, "-std=c99", tmp_path / "text.c", "-o", tmp_path / "text"], check=True)
        assert subprocess.run([tmp_path / "text"], check=True, stdout=subprocess.PIPE).stdout.decode() == name + "1\n"
    yaml = pytest.importorskip("yaml")
    made = yaml.safe_load(export.settings("0", ["v4l2src", "device=/dev/video0"], [name], {"threshold": "0.7"}))
    assert made["cameras"]["studio"] == {"source": "v4l2src device=/dev/video0", "templates": [name],
                                         "settings": {"threshold": "0.7"}}


@needs_element
def test_settings_are_for_a_fleet(tmp_path, clip):
    pytest.importorskip("yaml")
    template = videos.make_template(tmp_path / "part.png").rename(tmp_path / "a 'part' \".png")
    exported = Search().changed({"threshold": 0.8}).exported(clip, "cpu", [str(template)], False)
    (tmp_path / "fleet.yaml").write_text(exported["settings"])
    camera, = config.read(str(tmp_path / "fleet.yaml"))
    assert (camera.uri, camera.templates) == (pathlib.Path(clip).as_uri(), (str(template),))
    assert camera.settings["threshold"] == "0.8" and camera.settings["track"] == "true"
    matcher(camera.templates, camera.settings)  # refuses what is no property
