# SPDX-License-Identifier: LGPL-2.1-or-later
"""Many long videos searched for templates, on all CPUs and GPUs of a Ray cluster.

    python -m xcorr.archive search --template part.png --out DIR FILE...
    python -m xcorr.archive summary DIR

Work is cut into units: a file, a range of its frames that begins with a key frame, a search. `units` and `search`
know nothing of Ray, `cluster` hands units to it.
"""
