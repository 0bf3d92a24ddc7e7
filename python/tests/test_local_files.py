# SPDX-License-Identifier: LGPL-2.1-or-later
"""Files open nothing but themselves, and names are taken as they are."""
import http.server
import threading

import pytest

gi = pytest.importorskip("gi", reason="PyGObject is missing (Debian: python3-gi)")
from xcorr import _gstreamer  # noqa: E402
from xcorr._gstreamer import Gst, PipelineError  # noqa: E402
from xcorr._launch_line import quoted  # noqa: E402
from xcorr.archive import units  # noqa: E402

PLAYLIST = "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n{address}/part.ts\n#EXT-X-ENDLIST\n"
MANIFEST = ('<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" '
            'mediaPresentationDuration="PT1S"><BaseURL>{address}/</BaseURL><Period><AdaptationSet '
            'mimeType="video/mp4"><Representation id="1" bandwidth="1"><SegmentList><SegmentURL media="x.mp4"/>'
            "</SegmentList></Representation></AdaptationSet></Period></MPD>")


@pytest.fixture
def server():
    """Its address, and what it has been asked for."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *_):
            pass
    listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{listener.server_port}", asked
    listener.shutdown()


@pytest.mark.parametrize("text", [PLAYLIST, MANIFEST])
def test_a_playlist_opens_no_connection(server, tmp_path, text):
    address, asked = server
    file = tmp_path / "video.mp4"
    file.write_text(text.format(address=address), encoding="utf-8")
    with pytest.raises(PipelineError):
        units.frames_of(str(file), [])
    assert asked == []


@pytest.mark.parametrize("name", ['"x"', 'a"b', '"', '""', "x", '"a\\b c\u00e4,=;!"', "a b"])
def test_values_are_taken_as_they_are(name):
    pipeline = Gst.parse_launch(f"filesrc name=from location={quoted(name)} ! fakesink")
    assert pipeline.get_by_name("from").get_property("location") == name


def test_a_video_is_read(tmp_path):
    file = tmp_path / '"video.mov"'
    with _gstreamer.running("videotestsrc num-buffers=5 ! video/x-raw,width=64,height=48 ! jpegenc ! qtmux ! "
                            f"filesink location={quoted(file)}") as pipeline:
        _gstreamer.play(pipeline)
    assert len(units.frames_of(str(file), [])) == 5
