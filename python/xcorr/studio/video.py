# SPDX-License-Identifier: LGPL-2.1-or-later
"""Live video for a page by WebRTC: what encodes the frames of one page and sends them, GStreamer's webrtcbin.

The page's websocket carries what both sides have to agree on. Media leaves from the address at which the page reached
the server, and goes to where the page's own checks come from: addresses that a page names are not used, and no other
server is asked for any.
"""
from __future__ import annotations

import ctypes
import importlib
import re
import time
from typing import Any, Callable, NamedTuple

from .._gstreamer import Gst, gi
from .images import WIDEST, scaled, size_of
from .player import Frame

CLOCK = 90_000  # steps of an RTP timestamp in a second
BITS = 4.5  # a second for each pixel: at 30 frames a second 0.15 of a frame
MOST_AHEAD = 15  # frames that a page has not shown yet
FORGOTTEN = 2.0  # s, after which a frame is no longer waited for: it was lost on the way
LOST = 5.0  # s, after which the page is no longer taken to get video
_FACTORIES = "webrtcbin", "nicesink", "dtlsenc", "srtpenc"


class Codec(NamedTuple):
    """Its elements; `rate` is the encoder's property, and how many bits a second one is."""
    encoder: str
    settings: tuple[str, ...]
    rate: tuple[str, int]
    payloader: tuple[str, ...]


#: By the names that pages have for them.
CODECS = {
    "H264": Codec("x264enc", ("tune=zerolatency", "speed-preset=superfast", "key-int-max=120", "!",
                              "video/x-h264,profile=constrained-baseline"), ("bitrate", 1000),
                  ("rtph264pay", "config-interval=-1", "aggregate-mode=zero-latency")),
    "VP8": Codec("vp8enc", ("deadline=1", "cpu-used=8", "lag-in-frames=0", "error-resilient=default",
                            "keyframe-max-dist=120"), ("target-bitrate", 1), ("rtpvp8pay", "picture-id-mode=15-bit")),
}


def codecs() -> list[str]:
    """Those that can be sent."""
    return [name for name, codec in CODECS.items()
            if Gst.ElementFactory.find(codec.encoder) and Gst.ElementFactory.find(codec.payloader[0])]


def missing() -> str:
    """What WebRTC lacks here, or an empty text."""
    for name in _FACTORIES:
        if not Gst.ElementFactory.find(name):
            return f"GStreamer has no element {name} (Debian: gstreamer1.0-plugins-bad, gstreamer1.0-nice)"
    for name in "GstWebRTC", "GstSdp":
        try:
            gi.require_version(name, "1.0")
        except ValueError:
            return f"Python has no {name} (Debian: gir1.2-gst-plugins-bad-1.0, gir1.2-gst-plugins-base-1.0)"
    return "" if codecs() else "GStreamer has neither x264enc nor vp8enc (Debian: gstreamer1.0-plugins-ugly, -good)"


def _hold(ice: Any) -> None:
    """webrtcbin's only reference to it may be a floating one, which Python's wrapper takes away when it is made."""
    if ice.__grefcount__ < 2:
        ref = ctypes.CDLL("libgobject-2.0.so.0").g_object_ref
        ref.argtypes, ref.restype = [ctypes.c_void_p], ctypes.c_void_p
        ref(hash(ice))


class Video:
    """To one page. `send` and `fail` are called in threads of GStreamer's, the functions here in one other."""

    def __init__(self, codec: str, address: str, send: Callable[[dict[str, Any]], None],
                 fail: Callable[[], None]) -> None:
        self.flows = False  # the page shows frames
        self._waits: float | None = None  # since when a frame is to be shown
        self._codec, self._send, self._fail = CODECS[codec], send, fail
        self._fed: dict[int, Frame] = {}
        self._webrtc: Any = importlib.import_module("gi.repository.GstWebRTC")
        self._sdp: Any = importlib.import_module("gi.repository.GstSdp")
        encoder, pay = self._codec.encoder, self._codec.payloader
        self._pipeline = Gst.parse_launchv([
            "appsrc", "name=in", "format=time", "is-live=true", "max-buffers=1", "leaky-type=downstream", "!",
            "videoscale", "!", "videoconvert", "!", "capsfilter", "name=size", "!",
            encoder, "name=encoder", *self._codec.settings, "!", *pay, "timestamp-offset=0", "!",
            f"application/x-rtp,media=video,encoding-name={codec},payload=96", "!",
            "webrtcbin", "name=web", "bundle-policy=max-bundle"])
        self._in, self._encoder, self._web = (self._pipeline.get_by_name(name) for name in ("in", "encoder", "web"))
        self._caps = ""
        ice = self._web.get_property("ice-agent")
        _hold(ice)
        ice.set_property("ice-tcp", False)
        ice.get_property("agent").set_property("upnp", False)  # it would ask the network's routers to let it through
        ice.emit("add-local-ip-address", address)
        self._handlers = [self._web.connect(name, handler) for name, handler in (
            ("on-negotiation-needed", self._negotiate), ("notify::connection-state", self._look),
            ("on-ice-candidate", lambda _, line, text: send({"type": "candidate", "line": line, "text": text})))]
        self._begun: float | None = None

    def begin(self) -> None:
        """From then on it is offered to the page."""
        self._pipeline.set_state(Gst.State.PLAYING)
        self._begun = time.monotonic()

    def _negotiate(self, web: Any) -> None:
        web.emit("create-offer", None, Gst.Promise.new_with_change_func(self._offer, web))

    def _offer(self, promise: Any, web: Any, *_: Any) -> None:
        reply = promise.get_reply()
        offer = reply and reply.get_value("offer")
        if not offer:
            self._fail()
            return
        web.emit("set-local-description", offer, Gst.Promise.new())
        self._send({"type": "offer", "sdp": offer.sdp.as_text()})

    def _look(self, web: Any, _: Any) -> None:
        if web.get_property("connection-state") == self._webrtc.WebRTCPeerConnectionState.FAILED:
            self._fail()

    def answer(self, text: object) -> None:
        """The page's. Raises ValueError."""
        if not isinstance(text, str):
            raise ValueError("an answer is a text")
        known = re.sub(r"(?m)^a=(candidate|remote-candidates):.*\n?", "", text)
        read, message = self._sdp.SDPMessage.new_from_text(known)
        if read != self._sdp.SDPResult.OK or message.medias_len() != 1:
            raise ValueError("that is no session description")
        if self._begun is None:
            raise ValueError("the video has ended")
        kinds = self._webrtc.WebRTCSDPType
        self._web.emit("set-remote-description", self._webrtc.WebRTCSessionDescription.new(kinds.ANSWER, message),
                       Gst.Promise.new())

    def feed(self, frame: Frame) -> int | None:
        """The RTP timestamp that it will have; None where it is left out, since the page falls behind."""
        self.flows = self.flows and (self._waits is None or frame.taken - self._waits < LOST)
        self._fed = {number: each for number, each in self._fed.items() if frame.taken - each.taken < FORGOTTEN}
        if self._begun is None or frame.taken < self._begun or len(self._fed) >= MOST_AHEAD:
            return None
        if self._pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR):
            self._fail()
        self._adapt(frame.sample)
        buffer = frame.sample.get_buffer()
        kinds = Gst.BufferCopyFlags
        copy = buffer.copy_region(kinds.FLAGS | kinds.META | kinds.MEMORY, 0, buffer.get_size())  # on the same memory
        copy.pts = int((frame.taken - self._begun) * Gst.SECOND)
        stamp = copy.pts * CLOCK // Gst.SECOND % 2 ** 32
        self._in.emit("push-buffer", copy)
        self._fed[frame.number] = frame
        self._waits = self._waits or frame.taken
        return stamp

    def _adapt(self, sample: Any) -> None:
        """To the size of frames."""
        caps = sample.get_caps()
        if caps.to_string() == self._caps:
            return
        self._caps = caps.to_string()
        # Even, since colours have planes of half the size.
        width, height = (max(2, each // 2 * 2) for each in scaled(size_of(sample), WIDEST))
        self._pipeline.get_by_name("size").set_property("caps", Gst.Caps.from_string(
            f"video/x-raw,format=I420,width={width},height={height},pixel-aspect-ratio=1/1"))
        name, unit = self._codec.rate
        self._encoder.set_property(name, int(width * height * BITS / unit))
        self._in.set_property("caps", caps)

    def shown(self, number: object) -> Frame | None:
        """What the page shows now; those before it will not be shown."""
        frame = self._fed.get(number) if isinstance(number, int) else None
        if frame:
            self.flows, self._waits = True, None
            self._fed = {each: other for each, other in self._fed.items() if each > frame.number}
        return frame

    def rest(self) -> None:
        """The page shows an image of what stands still instead."""
        self._waits = None

    def close(self) -> None:
        """For good. Its sockets go with the last reference to webrtcbin, which handlers have too."""
        self._pipeline.set_state(Gst.State.NULL)
        for handler in self._handlers:
            self._web.disconnect(handler)
        self._begun = None
        del self._pipeline, self._in, self._encoder, self._web
