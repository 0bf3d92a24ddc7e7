# SPDX-License-Identifier: LGPL-2.1-or-later
"""Threads, the GIL, forks, the limit of threads, and devices that are not there."""
import concurrent.futures
import multiprocessing
import subprocess
import sys
import threading

import numpy
import pytest

import xcorr
from conftest import noise


def test_threads_do_not_mix_their_results():
    image = noise((100, 120), 1)
    templates = [image[i:i + 10 + i % 3, 2 * i:2 * i + 12] for i in range(24)]
    expected = [xcorr.match_template(image, template) for template in templates]
    shared = xcorr.Matcher(templates, device="cpu", subpixel=False)

    def work(i):
        for _ in range(20):
            assert numpy.array_equal(xcorr.match_template(image, templates[i]), expected[i])
        assert numpy.array_equal(shared.score(image, i), expected[i])
        return list(shared.score(image, i).shape)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert len(list(pool.map(work, range(24)))) == 24


def test_live_templates_are_blended_by_one_thread_while_others_match(frame):
    live = xcorr.LiveTemplate(frame[10:20, 30:42], device="cpu")
    matcher = xcorr.Matcher([live], device="cpu", subpixel=False)
    ended = threading.Event()

    def blend():
        for i in range(300):
            live.blend(frame, *((30, 10) if i % 2 else (3, 4)), 1.0)
        ended.set()

    thread = threading.Thread(target=blend)
    thread.start()
    while not ended.is_set():
        peak = matcher.match(frame)[0]
        assert peak["score"] == 1 and peak["x"] in (3, 30)
    thread.join()


def test_the_gil_is_released():
    """While a match goes on another thread of Python's runs, which the interpreter itself does not switch to."""
    image = noise((3000, 3000), 2)
    begin, ran = threading.Event(), []

    def run():
        begin.wait()
        ran.append(True)

    thread = threading.Thread(target=run)
    thread.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        begin.set()
        before = list(ran)
        xcorr.match_template(image, image[:64, :64])
        after = list(ran)
    finally:
        sys.setswitchinterval(interval)
        thread.join()
        xcorr.clear_cache()
    assert not before and after


def child(image, results):
    results.send(xcorr.match_template(image, image[10:74, 20:84]))


def test_a_forked_process_works():
    image = noise((300, 300), 3)
    expected = xcorr.match_template(image, image[10:74, 20:84])
    context = multiprocessing.get_context("fork")
    results, child_results = context.Pipe(duplex=False)
    process = context.Process(target=child, args=(image, child_results))
    process.start()
    assert results.poll(60)
    got = results.recv()
    process.join(60)
    assert process.exitcode == 0
    numpy.testing.assert_array_equal(got, expected)


def test_the_limit_of_threads():
    image = noise((700, 700), 3)
    expected = xcorr.match_template(image, image[10:74, 20:84])
    assert xcorr.max_threads() == 0
    try:
        xcorr.set_max_threads(1)
        assert xcorr.max_threads() == 1
        numpy.testing.assert_array_equal(xcorr.match_template(image, image[10:74, 20:84]), expected)
        with pytest.raises(ValueError, match="threads must not be negative"):
            xcorr.set_max_threads(-1)
        assert xcorr.max_threads() == 1
    finally:
        xcorr.set_max_threads(0)


def test_with_one_thread_there_is_one_thread():
    """None is started, which /proc counts."""
    program = """
import os, numpy, xcorr
image = numpy.random.default_rng(1).integers(0, 256, (900, 900), "u1")
before = len(os.listdir("/proc/self/task"))
xcorr.set_max_threads(1)
xcorr.match_template(image, image[:64, :64])
assert len(os.listdir("/proc/self/task")) == before
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_gpu_that_is_not_there(frame):
    with pytest.raises(RuntimeError) as error:
        xcorr.match_template(frame, frame[:5, :5], device="cuda:99")
    assert str(error.value)
    assert "cpu" in xcorr.devices()
    assert xcorr.Matcher([frame[:5, :5]]).device in xcorr.devices()


def test_nothing_of_cuda_is_needed():
    """Neither to import nor to match on the CPU."""
    program = ("import xcorr, numpy, sys; xcorr.match_template(numpy.eye(9, dtype='u1'), numpy.eye(3, dtype='u1'));"
               "assert not {'torch', 'cupy'} & set(sys.modules);"
               "assert 'libcuda' not in open('/proc/self/maps').read()")
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_process_ends_without_a_word():
    """nanobind would name what is left of the module's objects."""
    program = ("import numpy, xcorr; a = numpy.eye(99, dtype='u1'); m = xcorr.Matcher([a[:9, :9]], device='cpu'); "
               "m.match(a);xcorr.match_template(a, a[:9, :9]); xcorr.correlate2d(a, a); f = xcorr.FieldMatcher(a, "
               "device='cpu')")
    done = subprocess.run([sys.executable, "-c", program], check=True, text=True, stderr=subprocess.PIPE)
    assert done.stderr == ""
