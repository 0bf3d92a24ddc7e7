#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Times xcorr.match_template beside OpenCV, scikit-image and cuCIM, and what Python adds to the library's calls.

    python_bench.py [--output=FILE] [--seconds=1]

On a photograph (scikit-image's `retina`, gray, tiled where it is too small), 8-bit, by ccoeff-normed. On a GPU the
arrays are CuPy's or PyTorch's, whichever are installed, and a time ends when the stream is idle. Programs take turns,
call by call, so that what else the machine does concerns them alike. `library` is the same work by the module's
functions with the images prepared and the result's memory there. `overhead_us` is the median of what match_template
takes outside of the library's calls, by a timer inside; `layer_us` the same where the library does nothing, so that
all of Python is in the caches.
CuPy's own correlation, which is not normalised, stands beside the normalised ones.
"""
import argparse
import contextlib
import statistics
import sys
import time
import timeit

import numpy
import skimage.data
import skimage.feature

import xcorr
from compare import machine
from xcorr import _arrays, _scores, _settings

SIZES = [((640, 480), 16), ((640, 480), 64), ((1920, 1080), 64), ((1920, 1080), 128)]
COLUMNS = 'program,arrays,device,width,height,side,median_ms,min_ms,calls,overhead_us,layer_us'


def photograph(width, height):
    retina = skimage.data.retina()
    gray = (retina.astype('u4') @ numpy.array([77, 150, 29], 'u4') >> 8).astype('u1')
    tiles = numpy.tile(gray, (-(-height // gray.shape[0]), -(-width // gray.shape[1])))
    return numpy.ascontiguousarray(tiles[:height, :width])


def library_call(image, template):
    """What match_template has the library do, with everything else done beforehand."""
    place = _arrays.place_of(image, 'image', None)
    shape = (image.shape[0] - template.shape[0] + 1, image.shape[1] - template.shape[1] + 1)
    out = place.empty(shape, 'f4')
    prepared = [place.image(each, 'array', _arrays.MATCHED) for each in (image, template)]
    target, method = place.target(out), _settings.method_number('ccoeff-normed')
    scorer = _scores._Scorer(place.device, 'u1', tuple(image.shape), tuple(template.shape), None)
    return lambda: scorer.score(*prepared, method, target, place.stream)


def in_turn(runs, wait, seconds):
    """The times of each, in milliseconds, one of each a turn, in the other order every second turn."""
    times = {name: [] for name in runs}
    for run in runs.values():
        run()
        wait()
    begin = time.perf_counter()
    while len(next(iter(times.values()))) < 5 or time.perf_counter() - begin < seconds * len(runs):
        order = [*runs.items()]
        for name, run in order if len(times[order[0][0]]) % 2 else reversed(order):
            start = time.perf_counter()
            run()
            wait()
            times[name].append(1000 * (time.perf_counter() - start))
    return times


@contextlib.contextmanager
def scoring_by(function):
    real, _scores._Scorer.score = _scores._Scorer.score, function
    try:
        yield real
    finally:
        _scores._Scorer.score = real


def overhead(run, wait, seconds):
    """Microseconds of a call outside of the library, the median. A timer inside: where memory lies, which other calls
    differ in, matters more."""
    inside, outside = [], []

    def timed(*arguments):
        begin = time.perf_counter()
        real(*arguments)
        inside.append(time.perf_counter() - begin)
    with scoring_by(timed) as real:
        end = time.perf_counter() + seconds
        while len(outside) < 5 or time.perf_counter() < end:
            begin = time.perf_counter()
            run()
            outside.append(time.perf_counter() - begin - inside[-1])
            wait()
    return 1e6 * statistics.median(outside)


def layer(run, wait):
    """Microseconds of a call in which the library does nothing, again and again: the least of many means."""
    with scoring_by(lambda *arguments: None):
        run()
        wait()
        return 1e4 * min(timeit.repeat(run, number=100, repeat=50))


def on_host():
    import cv2

    def runs(image, template):
        return {'xcorr': lambda: xcorr.match_template(image, template), 'library': library_call(image, template),
                'OpenCV ' + cv2.__version__: lambda: cv2.matchTemplate(image, template, cv2.TM_CCOEFF_NORMED),
                'scikit-image ' + skimage.__version__: lambda: skimage.feature.match_template(image, template)}
    yield 'NumPy', lambda array: array, lambda: None, runs


def on_gpu():
    def ours(image, template):
        return {'xcorr': lambda: xcorr.match_template(image, template), 'library': library_call(image, template)}

    try:
        import torch
        yield ('PyTorch', lambda array: torch.as_tensor(array, device='cuda:0'),
               lambda: torch.cuda.current_stream().synchronize(), ours)
    except ImportError as error:
        print(error, file=sys.stderr)
    try:
        import cupy
    except ImportError as error:
        print(error, file=sys.stderr)
        return

    from cupyx.scipy import signal

    def with_cucim(image, template):
        runs = ours(image, template)
        runs[f'CuPy {cupy.__version__} (not normalised)'] = lambda: signal.correlate(
            image.astype('f4'), template.astype('f4'), 'valid', 'fft')
        try:
            import cucim
            from cucim.skimage.feature import match_template
            runs['cuCIM ' + cucim.__version__] = lambda: match_template(image, template)
        except ImportError as error:
            print(error, file=sys.stderr)
        return runs
    yield 'CuPy', cupy.asarray, lambda: cupy.cuda.get_current_stream().synchronize(), with_cucim


def measure(device, contents, options, file):
    for arrays, put, wait, runs_of in contents:
        for (width, height), side in SIZES:
            image = photograph(width, height)
            template = image[height // 3:height // 3 + side, width // 2:width // 2 + side]
            runs = runs_of(put(image), put(template))
            times = in_turn(runs, wait, options.seconds)
            added = overhead(runs['xcorr'], wait, options.seconds)
            share = layer(runs['xcorr'], wait)
            for name, all_of_it in times.items():
                more = f'{added:.1f},{share:.1f}' if name == 'xcorr' else ','
                file.write(f'{name},{arrays},{device},{width},{height},{side},{statistics.median(all_of_it):.4f},'
                           f'{min(all_of_it):.4f},{len(all_of_it)},{more}\n')
                file.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--output', type=argparse.FileType('w'), default=sys.stdout)
    parser.add_argument('--seconds', type=float, default=1, help='for each program and size')
    options = parser.parse_args()
    devices = xcorr.devices()
    gpu = devices.get('cuda:0')
    options.output.write(f'# {machine("cuda" if gpu else "cpu", gpu)}\n'
                         '# photograph: retina of scikit-image, gray; uint8, ccoeff-normed\n' + COLUMNS + '\n')
    measure('cpu', on_host(), options, options.output)
    if gpu:
        measure('cuda:0', on_gpu(), options, options.output)


if __name__ == '__main__':
    main()
