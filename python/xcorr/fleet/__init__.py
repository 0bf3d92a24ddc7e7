# SPDX-License-Identifier: LGPL-2.1-or-later
"""Many cameras searched for templates by the machines of a Ray cluster, results in Redis streams.

    python -m xcorr.fleet FILE.yaml

Each camera is an actor, which Ray restarts elsewhere when its process or its machine dies. `config` reads the file,
`camera` is what an actor does, `cluster` hands cameras to Ray.
"""
