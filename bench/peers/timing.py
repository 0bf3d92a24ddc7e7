# SPDX-License-Identifier: LGPL-2.1-or-later
"""How long a peer's frame takes: the median of samples, by the GPU's clock or the host's, after a warm-up.

What was timed is what is returned, so that the result that is checked is the one that was measured.
"""
import math
import statistics
import time
import typing

SAMPLE_MS = 2  # a sample on the GPU is a batch at least this long


class Timing(typing.NamedTuple):
    ms: float
    samples: int
    result: object


def _median(sample, seconds):
    samples, begin = [], time.perf_counter()
    while not samples or time.perf_counter() - begin < seconds:
        samples.append(sample())
    return statistics.median(samples), len(samples)


def on_host(run, seconds):
    def sample():
        nonlocal result
        start = time.perf_counter()
        result = run()
        return 1000 * (time.perf_counter() - start)

    result = None
    sample()  # warm-up
    return Timing(*_median(sample, seconds), result)


def on_gpu(run, seconds, captured):
    """Calls enqueued back to back on a stream, which CUDA events time; `captured`: replays of a graph of one."""
    import torch  # pylint: disable=import-outside-toplevel
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        result = run()  # warm-up: what libraries do once cannot be captured
        stream.synchronize()
        call = run
        if captured:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=stream):
                result = run()
            call = graph.replay

        def sample(calls):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            for _ in range(calls):
                call()
            end.record()
            end.synchronize()
            return start.elapsed_time(end) / calls

        sample(1)
        calls = max(1, math.ceil(SAMPLE_MS / sample(1)))
        ms, samples = _median(lambda: sample(calls), seconds)
        if not captured:
            result = run()
            stream.synchronize()
        return Timing(ms, samples, result)
