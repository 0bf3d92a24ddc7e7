# SPDX-License-Identifier: LGPL-2.1-or-later
"""A Redis server of a test's own, for modules that import the fixture."""
import shutil
import subprocess

import pytest

redis = pytest.importorskip("redis")

from xcorr.fleet import camera as cameras  # noqa: E402
from ray_workers import wait_for  # noqa: E402

if not shutil.which("redis-server"):
    pytest.skip("there is no redis-server", allow_module_level=True)


@pytest.fixture
def server(tmp_path):
    """A client, and the address."""
    path = tmp_path / "socket"
    process = start(path)
    client = cameras.client(f"unix:{path}")
    wait_for(lambda: answers(client))
    yield client, f"unix:{path}"
    process.kill()
    process.wait()


def start(path):
    return subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir", path.parent],
                            stdout=subprocess.DEVNULL)


def answers(client):
    try:
        return client.ping()
    except redis.RedisError:
        return False
