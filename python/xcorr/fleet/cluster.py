# SPDX-License-Identifier: LGPL-2.1-or-later
"""Hands cameras to the workers of a Ray cluster, one actor each."""
from __future__ import annotations

from typing import Any, Callable, Sequence

from .._ray import connect
from . import camera as cameras
from .config import Camera


class CameraActor:
    """Restarted by Ray, it begins again."""

    def follow(self, camera: Camera) -> None:
        return cameras.follow(camera)


def start(fleet: Sequence[Camera]) -> dict[Any, tuple[Camera, Any]]:
    """One actor a camera. Returns camera and actor by Ray's reference of the camera's end."""
    ray = connect()
    running: dict[Any, tuple[Camera, Any]] = {}
    for camera in fleet:
        actor = ray.remote(CameraActor).options(
            num_cpus=camera.cpus, num_gpus=camera.gpus, max_restarts=-1, max_task_retries=-1).remote()
        running[actor.follow.remote(camera)] = camera, actor
    return running


def run(fleet: Sequence[Camera], address: str | None = None, workers: int | None = None,
        on_end: Callable[[Camera, str | None], object] | None = None) -> None:
    """Until all streams have ended. Calls on_end(camera, None or what is wrong with it)."""
    ray = connect(address, workers)
    running = start(fleet)
    while running:
        for reference in ray.wait(list(running))[0]:
            camera, _ = running.pop(reference)
            try:
                ray.get(reference)
                reason: str | None = None
            except Exception as error:  # whatever it is, the others go on
                reason = str(getattr(error, "cause", None) or error)
            if on_end:
                on_end(camera, reason)
