# SPDX-License-Identifier: LGPL-2.1-or-later
"""Hands cameras to the workers of a Ray cluster, one actor each."""
from .._ray import connect
from . import camera as cameras


class CameraActor:
    """Restarted by Ray, it begins again."""

    def follow(self, camera):
        return cameras.follow(camera)


def start(fleet):
    """One actor a camera. Returns camera and actor by Ray's reference of the camera's end."""
    ray = connect()
    running = {}
    for camera in fleet:
        actor = ray.remote(CameraActor).options(
            num_cpus=camera.cpus, num_gpus=camera.gpus, max_restarts=-1, max_task_retries=-1).remote()
        running[actor.follow.remote(camera)] = camera, actor
    return running


def run(fleet, address=None, workers=None, on_end=None):
    """Until all streams have ended. Calls on_end(camera, None or what is wrong with it)."""
    ray = connect(address, workers)
    running = start(fleet)
    while running:
        for reference in ray.wait(list(running))[0]:
            camera, _ = running.pop(reference)
            try:
                ray.get(reference)
                reason = None
            except Exception as error:  # whatever it is, the others go on
                reason = str(getattr(error, "cause", None) or error)
            if on_end:
                on_end(camera, reason)
