# SPDX-License-Identifier: LGPL-2.1-or-later
"""A screen with a mouse for tests: Xvfb, moved by xdotool."""
import os
import shutil
import subprocess


def have_screen():
    return all(shutil.which(tool) for tool in ("Xvfb", "xdotool"))


class Screen:
    """A screen of that size, without a window manager: windows are at its upper left corner."""

    def __init__(self, width, height):
        self.width, self.height = width, height

    def __enter__(self):
        reader, writer = os.pipe()
        self.server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(writer), "-screen", "0",
             f"{self.width}x{self.height}x24", "-nolisten", "tcp"],
            pass_fds=[writer], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(writer)
        with os.fdopen(reader) as number:
            self.display = ":" + number.readline().strip()
        self.environment = {**os.environ, "DISPLAY": self.display}
        return self

    def __exit__(self, *_):
        self.server.terminate()
        self.server.wait()

    def mouse(self, *actions):
        """xdotool's commands, such as "mousemove", x, y, "mousedown", 1."""
        subprocess.run(["xdotool", *map(str, actions)], check=True, env=self.environment)

    def image(self, file, x, y, width, height):
        """Writes a part of the screen as PNG and gives its pixels, 3 bytes each, R G B. The width is
        a multiple of 4."""
        raw = file.with_suffix(".rgb")
        pipeline = (f"ximagesrc num-buffers=1 ! videocrop left={x} top={y} "
                    f"right={self.width - x - width} bottom={self.height - y - height} ! "
                    "videoconvert ! video/x-raw,format=RGB ! tee name=t ! "
                    "filesink async=false RAW t. ! pngenc compression-level=9 ! "
                    "filesink async=false PNG").split()
        pipeline[pipeline.index("RAW")] = f"location={raw}"
        pipeline[pipeline.index("PNG")] = f"location={file}"
        subprocess.run(["gst-launch-1.0", "-q", *pipeline], check=True, env=self.environment)
        pixels = raw.read_bytes()
        assert len(pixels) == 3 * width * height, len(pixels)
        return [pixels[at:at + 3] for at in range(0, len(pixels), 3)]
