#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""How xcorr.archive scales over the workers of this machine, and what it costs beside a plain pipeline.

    archive.py [--seconds=100] [--gpu] [--output=FILE]

On videos of scikit-image's photographs, which move, 1280x720, encoded by x264enc as 4:2:0, which GPUs decode, too; a
template of 64x64. Rows:

    decoder       decodes and does nothing else
    pipeline      searches whole files in one pipeline, without units and Ray
    one worker    xcorr.archive with one
    two workers   xcorr.archive with two, of twice the work

Each runs for about so many seconds. On the CPU all have one core but for the last, which has two; with --gpu all have
all cores, and workers half a GPU. Ray's own processes have no others. `start_s` is what passes before the first unit
begins, `search_s` the rest. What is compared are frames per second of `search_s`; `of_5_min` has the start in it, for a
run of that length. `cpu_ms` is the time of cores that a frame takes, in all processes, Ray's among them: what other
work on the machine changes least. It takes four and a half times as long as the seconds, and some for the videos.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy
import skimage.data

from compare import machine
import xcorr
from xcorr._gstreamer import Gst, digest, matcher, play, quoted, running

WIDTH, HEIGHT, SIDE, RATE = 1280, 720, 64, 50
LONG_RUN = 300
COLUMNS = 'what,cores,frames,start_s,search_s,frames_per_s,of_5_min,cpu_ms'
MARK = 'XCORR_BENCH_RUN'


def photograph():
    """Large enough for the view to move on it."""
    gray = (skimage.data.retina().astype('u4') @ numpy.array([77, 150, 29], 'u4') >> 8).astype('u1')
    return numpy.tile(gray, (2, 2))


def frames_of_file(gpu):
    return 5000 if gpu else 1000


def views(count):
    """The frames: a part of the photograph that goes round."""
    whole = photograph()
    for number in range(count):
        x = int(round(600 + 500 * numpy.cos(0.02 * number)))
        y = int(round(600 + 500 * numpy.sin(0.031 * number)))
        yield whole[y:y + HEIGHT, x:x + WIDTH]


def gray(width, height):
    return (f'appsrc name=source format=time block=true max-buffers=8 caps=video/x-raw,format=GRAY8,width={width},'
            f'height={height},framerate={RATE}/1 ! videoconvert')


def write(images, line):
    """Images through a pipeline that begins with `source`."""
    with running(line + ' async=false') as pipeline:
        pipeline.set_state(Gst.State.PLAYING)
        source = pipeline.get_by_name('source')
        for number, image in enumerate(images):
            buffer = Gst.Buffer.new_wrapped(image.tobytes())
            buffer.pts, buffer.duration = number * Gst.SECOND // RATE, Gst.SECOND // RATE
            source.emit('push-buffer', buffer)
        source.emit('end-of-stream')
        play(pipeline)


def make(folder, count):
    """(the video, the template)."""
    video, template = folder / 'video.mp4', folder / 'part.png'
    write(views(count), f'{gray(WIDTH, HEIGHT)} ! video/x-raw,format=I420 ! x264enc speed-preset=superfast '
          f'bitrate=8000 key-int-max={RATE} ! mp4mux ! filesink location={quoted(video)}')
    first = next(views(1))
    write([first[300:300 + SIDE, 600:600 + SIDE]], f'{gray(SIDE, SIDE)} ! pngenc ! filesink '
          f'location={quoted(template)}')
    return video, template


def settings(gpu):
    return {'backend': 'cuda' if gpu else 'cpu', 'threshold': '0.7'}


# ---- one run, in a process of its own ---------------------------------------------------------------------


def cpu_seconds():
    """Of the processes of this run, Ray's among them: all that have its mark in their environment."""
    mark, ticks = f'{MARK}={os.environ[MARK]}\0'.encode(), 0
    for process in pathlib.Path('/proc').glob('[0-9]*'):
        try:
            if mark in (process / 'environ').read_bytes():
                fields = (process / 'stat').read_text().rpartition(')')[2].split()
                ticks += int(fields[11]) + int(fields[12])  # user and system
        except OSError:
            pass  # it has ended
    return ticks / os.sysconf('SC_CLK_TCK')


def now():
    return time.monotonic(), cpu_seconds()


def through(files, elements):
    """Whole files, one after another."""
    for file in files:
        with running(f'filesrc location={quoted(file)} ! decodebin ! {elements} ! fakesink sync=false') as pipeline:
            play(pipeline)


def by_workers(files, template, folder, workers, gpu):
    """now() when it began to search."""
    from xcorr._ray import connect
    from xcorr.archive import cluster, units
    os.environ['RAY_worker_niceness'] = '0'  # that of the other rows; Ray's own is 15
    connect(None, workers)
    templates = (str(template),)
    wanted = units.Search(templates, tuple(sorted(settings(gpu).items())), digest(templates, settings(gpu)))
    begin = []

    def report(*_):  # at first when a file has been cut into units
        begin[:] = begin or [now()]

    searched, failed = cluster.run([str(file) for file in files], wanted, str(folder), gpus=0.5 if gpu else 0,
                                   on_progress=report)
    assert searched == frames_of_file(gpu) * len(files) and not failed, failed
    return begin[0]


def one_run(what, template, files, gpu):
    created, _ = begin = now()
    with tempfile.TemporaryDirectory() as folder:
        if what == 'decoder':
            through(files, 'identity')
        elif what == 'pipeline':
            through(files, f'videoconvert ! {matcher([template], settings(gpu))} ! '
                           f'xcorrjson location={quoted(pathlib.Path(folder, "lines"))}')
        else:
            begin = by_workers(files, template, folder, {'one worker': 1, 'two workers': 2}[what], gpu)
        end = now()
    print(json.dumps([begin[0] - created, end[0] - begin[0], end[1] - begin[1]]))


# ---- all of them ------------------------------------------------------------------------------------------


def timed(what, cores, template, files, gpu):
    """(seconds before, seconds of, CPU seconds of) a search, on so many cores; 0: all."""
    allowed = sorted(os.sched_getaffinity(0))
    words = [sys.executable, __file__, '--run', what, '--template', template, *(['--gpu'] if gpu else []), *files]
    done = subprocess.run(words, stdout=subprocess.PIPE, check=True, env={**os.environ, MARK: str(time.time_ns())},
                          preexec_fn=lambda: os.sched_setaffinity(0, allowed[:cores] if cores else allowed))
    return json.loads(done.stdout.splitlines()[-1])


def measure(options, folder):
    video, template = make(folder, frames_of_file(options.gpu))
    cores = (lambda count: 0) if options.gpu else (lambda count: count)

    def copies(count):
        """Other files for `xcorr.archive`, the same to read."""
        made = [folder / f'{number}.mp4' for number in range(count)]
        for file in made:
            if not file.exists():
                os.link(video, file)
        return made

    rates, costs = {}, {}
    a_file = timed('pipeline', cores(1), template, copies(1), options.gpu)[1]
    count = max(1, round(options.seconds / a_file))
    options.output.write(f'# {machine("cuda" if options.gpu else "cpu", xcorr.devices().get("cuda:0"))}\n{COLUMNS}\n')
    for what, of, on in (('decoder', count, 1), ('pipeline', count, 1), ('one worker', count, 1),
                         ('two workers', 2 * count, 2)):
        start, search, cpu = timed(what, cores(on), template, copies(of), options.gpu)
        frames = of * frames_of_file(options.gpu)
        rates[what], costs[what] = frames / search, 1000 * cpu / frames
        of_5_min = rates[what] * (LONG_RUN - start) / LONG_RUN
        options.output.write(f'{what},{cores(on) or "all"},{frames},{start:.1f},{search:.1f},{rates[what]:.1f},'
                             f'{of_5_min:.1f},{costs[what]:.2f}\n')
        options.output.flush()
    for text, value in (('two workers / (2 x one)', rates['two workers'] / (2 * rates['one worker'])),
                        ('pipeline / one worker', rates['pipeline'] / rates['one worker']),
                        ('one worker / pipeline, cpu_ms', costs['one worker'] / costs['pipeline']),
                        ('one worker / decoder', rates['one worker'] / rates['decoder'])):
        options.output.write(f'# {text}: {value:.3f}\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--seconds', type=float, default=100, help='of each row')
    parser.add_argument('--gpu', action='store_true', help='search on a GPU')
    parser.add_argument('--output', type=argparse.FileType('w'), default=sys.stdout)
    parser.add_argument('--run', help=argparse.SUPPRESS)
    parser.add_argument('--template', help=argparse.SUPPRESS)
    parser.add_argument('files', nargs='*', help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        one_run(options.run, options.template, options.files, options.gpu)
        return
    with tempfile.TemporaryDirectory() as folder:
        measure(options, pathlib.Path(folder))


if __name__ == '__main__':
    main()
