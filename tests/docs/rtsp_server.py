# SPDX-License-Identifier: LGPL-2.1-or-later
"""A camera for tests: answers one RTSP client and sends it an MP4 file's H.264 over UDP, once.

Just enough of RFC 2326 for `rtspsrc`; gst-launch-1.0 does the RTP.
"""
import re
import socket
import subprocess
import threading

SDP = """v=0\r
o=- 0 0 IN IP4 127.0.0.1\r
s=clip\r
c=IN IP4 127.0.0.1\r
t=0 0\r
m=video 0 RTP/AVP 96\r
a=rtpmap:96 H264/90000\r
a=fmtp:96 packetization-mode=1\r
a=control:video\r
"""


class RtspServer:
    """`with RtspServer(clip) as url:` serves the clip at `url`."""

    def __init__(self, clip):
        self.clip = clip
        self.sender = None

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.serve, daemon=True).start()
        return "rtsp://127.0.0.1:%d/stream" % self.listener.getsockname()[1]

    def __exit__(self, *exception):
        self.listener.close()
        if self.sender:
            self.sender.kill()
            self.sender.wait()

    def serve(self):
        connection, _ = self.listener.accept()
        with connection, connection.makefile("r", newline="\r\n") as requests:
            for line in requests:
                headers = {}
                for header in iter(requests.readline, "\r\n"):
                    if not header:
                        return
                    name, value = header.split(":", 1)
                    headers[name.lower()] = value.strip()
                connection.sendall(self.answer(line.split()[0], headers).encode())

    def answer(self, method, headers):
        extra, body = [], ""
        if method == "OPTIONS":
            extra = ["Public: OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN"]
        elif method == "DESCRIBE":
            extra, body = ["Content-Type: application/sdp"], SDP
        elif method == "SETUP":
            ports = re.search(r"client_port=(\d+)-\d+", headers["transport"])
            self.port = ports.group(1)
            extra = [f"Transport: RTP/AVP;unicast;{ports.group(0)}"]
        elif method == "PLAY":
            self.send()
        lines = ["RTSP/1.0 200 OK", f"CSeq: {headers['cseq']}", "Session: 1", *extra,
                 f"Content-Length: {len(body)}"]
        return "\r\n".join(lines) + "\r\n\r\n" + body

    def send(self):
        self.sender = subprocess.Popen(
            ["gst-launch-1.0", "-q", "filesrc", f"location={self.clip}", "!", "qtdemux", "!",
             "rtph264pay", "config-interval=-1", "pt=96", "!", "udpsink", "host=127.0.0.1",
             f"port={self.port}"], stdin=subprocess.DEVNULL)
