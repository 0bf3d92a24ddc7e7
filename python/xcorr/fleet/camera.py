# SPDX-License-Identifier: LGPL-2.1-or-later
"""What an actor does: follows one camera, from wherever it runs, and says where its stream has a gap."""
from __future__ import annotations

import datetime
import json
import os
import socket
import threading
import time
from typing import Any

from .._gstreamer import Gst, PipelineError, matcher, play, running
from .._launch_line import quoted
from .._missing import need
from .config import Camera

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # s, between tries of a camera that fails
PATIENCE = 3.0  # s, for a server's answer, and for all that a record of a gap takes
SCHEMA = 1  # of docs/results.schema.json


def client(address: str) -> Any:
    """A client for an address of xcorrredis. The password is that of the environment, as there.

    With TLS the server's certificate must be one that this machine trusts, and for that host.
    """
    if "?" in address:
        raise ValueError(f"the address {address!r} has options: xcorrredis takes none")
    redis = need("redis", "redis-py", "pip install 'xcorr[ray]', or redis itself")
    if address.startswith("unix:/") and not address.startswith("unix://"):
        address = "unix://" + address.removeprefix("unix:")
    tls = {"ssl_cert_reqs": "required", "ssl_check_hostname": True} if address.startswith("rediss:") else {}
    return redis.Redis.from_url(address, password=os.environ.get("REDISCLI_AUTH") or None, socket_timeout=PATIENCE,
                                socket_connect_timeout=PATIENCE, **tls)


def mark_gap(server: Any, camera: str, reason: str) -> None:
    """Adds a gap record right behind the stream's last entry, if it has any: frames may be missing there.

    Frames that come have later times, whatever clock they are by.
    """
    stream = f"places:{camera}"
    last = server.xrevrange(stream, count=1)
    if not last:
        return
    after = last[0][0].decode()
    milliseconds, sequence = map(int, after.split("-"))
    utc = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
    gap = {"after": after, "noticed": utc.replace("+00:00", "Z"), "reason": reason, "host": socket.gethostname()}
    fields = {"schema": SCHEMA, "camera": camera, "gap": gap}
    values = {name: json.dumps(value) for name, value in fields.items()}
    server.xadd(stream, values, id=f"{milliseconds}-{sequence + 1}")


def launch_line(camera: Camera) -> str:
    """The camera's pipeline."""
    if not Gst.ElementFactory.find("xcorrredis"):
        raise PipelineError('GStreamer has no element "xcorrredis": build the plugin with hiredis')
    source = camera.source or f"uridecodebin name=source uri={quoted(camera.uri)}"
    find = matcher(camera.templates, camera.settings, camera_id=camera.name)
    return (f"{source} ! videoconvert ! {find} ! xcorrredis address={quoted(camera.redis)} ! "
            "fakesink sync=false")


def ask_for_utc(_: Any, source: Any) -> None:
    """RTSP cameras may tell the time of their frames."""
    if source.find_property("add-reference-timestamp-meta"):
        source.set_property("add-reference-timestamp-meta", True)


def follow(camera: Camera, reason: str = "started") -> None:
    """Until the stream ends. A camera that fails is tried again, after pauses that double."""
    line = launch_line(camera)
    pause = FIRST_PAUSE
    while True:
        begin = time.monotonic()
        try:
            with_gap(camera, reason)
            with running(line, local=camera.uri.startswith("file:")) as pipeline:
                if uri := pipeline.get_by_name("source"):
                    uri.connect("source-setup", ask_for_utc)
                return play(pipeline)
        except PipelineError as error:
            reason = str(error)
        if time.monotonic() - begin > LONGEST_PAUSE:
            pause = FIRST_PAUSE  # it had worked
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def with_gap(camera: Camera, reason: str) -> None:
    """Marks the gap, if the server is there and quick; results do not wait for it either.

    In a thread of its own, which may be left alone: a name server that is silent takes longer, and nothing stops that.
    """
    server = client(camera.redis)

    def mark() -> None:
        try:
            mark_gap(server, camera.name, reason)
        except (need("redis", "redis-py", "").RedisError, OSError, ValueError):
            pass  # it is away, or no Redis server
    marking = threading.Thread(target=mark, daemon=True)
    marking.start()
    marking.join(PATIENCE)
    server.connection_pool.disconnect()
