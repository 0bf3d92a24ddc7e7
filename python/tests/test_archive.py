# SPDX-License-Identifier: LGPL-2.1-or-later
"""Archives: every frame searched once, whatever dies; units, broken files, the commands."""
import dataclasses
import os
import pathlib
import resource
import signal
import subprocess
import sys

import pytest

pytest.importorskip("ray")
pytest.importorskip("pyarrow")
pytest.importorskip("gi", reason="PyGObject is missing (Debian: python3-gi)")
from ray_workers import agents_of, busy, environment, wait_for  # noqa: E402
from videos import make_template, make_video, place  # noqa: E402

from xcorr import _gstreamer  # noqa: E402
from xcorr.archive import search, summary, units  # noqa: E402

if not _gstreamer.Gst.ElementFactory.find("cudaxcorr"):
    pytest.skip("GStreamer has no element cudaxcorr", allow_module_level=True)

SETTINGS = {"backend": "cpu", "threshold": "0.8"}


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """A folder with a template and videos, whose names begin with their seed."""
    folder = tmp_path_factory.mktemp("archive")
    make_template(folder / "part.png")
    for seed in 1, 2, 3:
        make_video(folder / f"{seed}.mp4", seed, 1000)
    make_video(folder / "4.mkv", 4, 100, muxer="matroskamux")
    make_video(folder / "5.avi", 5, 100, coder="jpegenc quality=95", muxer="avimux")
    return folder


@pytest.fixture
def wanted(archive):
    template = str(archive / "part.png")
    return units.Search((template,), tuple(SETTINGS.items()), _gstreamer.digest([template], SETTINGS))


def command(*words):
    return [sys.executable, "-m", "xcorr.archive", *map(str, words)]


def of_search(archive, out, *files, workers=("--workers", 2)):
    return command("search", "--template", archive / "part.png", "--out", out, "--unit", 25, *workers, "--set",
                   "threshold=0.8", *files)


def rows(folder):
    return [row for batch in summary.table_of(folder).to_batches() for row in batch.to_pylist()]


def faults(folder, lengths):
    """(lost, doubled, wrong) frames of these files, by the truth."""
    found = [(pathlib.Path(row["file"]).name, row["frame"]) for row in rows(folder)]
    expected = {(name, frame) for name, frames in lengths.items() for frame in range(frames)}
    wrong = 0
    for row in rows(folder):
        at = place(int(pathlib.Path(row["file"]).name[0]), row["frame"])
        peaks = [(round(peak["x"]), round(peak["y"])) for peak in row["peaks"]]
        wrong += peaks != ([at] if at else [])
    return len(expected - set(found)), len(found) - len(set(found)), wrong


def test_a_worker_and_then_the_driver_are_killed(archive, tmp_path):
    files = [archive / f"{seed}.mp4" for seed in (1, 2, 3)]
    out = tmp_path / "out"
    out.mkdir()
    driver = subprocess.Popen(of_search(archive, out, *files), env=environment(tmp_path), stderr=subprocess.DEVNULL)
    wait_for(lambda: len(units.done(out)) >= 5)
    os.kill(wait_for(lambda: busy(tmp_path, "search_unit"))[0], signal.SIGKILL)
    before = len(units.done(out))
    wait_for(lambda: len(units.done(out)) >= before + 20)
    assert driver.poll() is None
    driver.kill()
    driver.wait()
    wait_for(lambda: not busy(tmp_path, "search_unit"))  # Ray ends what it had begun
    there = units.done(out)
    assert 25 <= len(there) < 120

    second = subprocess.run(of_search(archive, out, *files), check=True, text=True, capture_output=True)
    assert second.stdout == f"{3000 - 25 * len(there)} frames searched, 0 of 3 files failed\n", second.stderr
    assert faults(out, {file.name: 1000 for file in files}) == (0, 0, 0)
    assert len(units.done(out)) == 120

    shown = subprocess.run(command("summary", out), check=True, text=True, capture_output=True).stdout
    assert shown.startswith("3000 frames searched\n")
    assert shown.count("part in 13 stretches") == 3


def test_an_agent_of_ray_is_killed(archive, tmp_path, monkeypatch):
    """Its node dies with it, in the middle of a unit, and another one does that again."""
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    out = tmp_path / "out"
    out.mkdir()
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        raylet = cluster.add_node(num_cpus=1).all_processes["raylet"][0].process
        driver = subprocess.Popen(of_search(archive, out, archive / "1.mp4", workers=("--address", cluster.address)),
                                  text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        wait_for(lambda: len(units.done(out)) >= 5)
        os.kill(agents_of(raylet.pid)[0], signal.SIGKILL)
        raylet.wait(60)
        said = driver.communicate(timeout=200)[0]
        assert said.endswith("1000 frames searched, 0 of 1 files failed\n"), said
    finally:
        cluster.shutdown()
    assert faults(out, {"1.mp4": 1000}) == (0, 0, 0)


def test_files_of_other_kinds(archive, wanted, tmp_path):
    for name in "4.mkv", "5.avi":
        for unit in units.units_of(archive / name, wanted, 40):
            search.search_unit(unit, tmp_path)
    assert faults(tmp_path, {"4.mkv": 100, "5.avi": 100}) == (0, 0, 0)


def test_a_transport_stream(wanted, tmp_path):
    for element in "mpegtsmux", "tsdemux", "h264parse":
        if not _gstreamer.Gst.ElementFactory.find(element):
            pytest.skip(f"GStreamer has no element {element} (Debian: gstreamer1.0-plugins-bad)")
    for unit in units.units_of(make_video(tmp_path / "6.ts", 6, 100, muxer="mpegtsmux"), wanted, 40):
        search.search_unit(unit, tmp_path)
    assert faults(tmp_path, {"6.ts": 100}) == (0, 0, 0)


def test_units(archive, wanted):
    """They begin with key frames, which are 25 frames apart, and have all frames."""
    made = units.units_of(archive / "1.mp4", wanted, 30)
    assert [(unit.first, unit.last) for unit in made] == [(first, first + 50) for first in range(0, 1000, 50)]
    assert len({unit.name for unit in made}) == 20
    assert {unit.name for unit in units.units_of(archive / "1.mp4", wanted, 30)} == {unit.name for unit in made}


@pytest.mark.parametrize("seek", [True, False])
def test_only_frames_of_the_unit_are_searched(archive, wanted, seek):
    """Not those behind it, which are decoded because frames may be stored late, nor those before it."""
    for unit in units.units_of(archive / "4.mkv", wanted, 25):
        assert list(search.results_of(unit, seek)[0]) == list(unit.times)


def test_a_context_is_kept_from_unit_to_unit(archive, wanted, tmp_path, monkeypatch):
    """That of a GPU, here an application's without one; a unit that misses a frame leaves none."""
    monkeypatch.setattr(search, "kept", [_gstreamer.Gst.Context.new(search.CUDA, True)])
    for unit in units.units_of(archive / "1.mp4", wanted, 25)[:2]:
        search.search_unit(unit, tmp_path)
        assert [context.get_context_type() for context in search.kept] == [search.CUDA]
    with pytest.raises(search.Incomplete):
        search.search_unit(dataclasses.replace(unit, times=(*unit.times, 1 << 60)), tmp_path)
    assert not search.kept


def test_another_search_has_other_parts(archive, wanted, tmp_path):
    template = tmp_path / "part.png"
    template.write_bytes((archive / "part.png").read_bytes())
    assert _gstreamer.digest([template], SETTINGS) == wanted.key
    assert _gstreamer.digest([template], SETTINGS | {"threshold": "0.7"}) != wanted.key
    template.write_bytes(b"another")
    assert _gstreamer.digest([template], SETTINGS) != wanted.key


def test_a_file_that_changes_is_searched_again(archive, wanted, tmp_path):
    file = tmp_path / "1.mp4"
    file.write_bytes((archive / "1.mp4").read_bytes())
    before = units.units_of(file, wanted, 500)[0].name
    os.utime(file, ns=(0, 0))
    assert units.units_of(file, wanted, 500)[0].name != before


def test_a_full_disk_leaves_no_part(archive, wanted, tmp_path):
    """A limit on the size of files, which the kernel keeps as it does that of a disk, stops the part in its middle."""
    unit = units.units_of(archive / "4.mkv", wanted, 50)[0]
    peak = dict.fromkeys(units.PEAK, 0) | {"label": "part"}
    line = {"peaks": [{name.replace("_", "-"): value for name, value in peak.items()}]}
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            units.put_part(tmp_path, unit, [line] * len(unit.times))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []
    search.search_unit(unit, tmp_path)
    assert units.done(tmp_path) == {unit.name}


def test_broken_files_are_told_and_the_rest_goes_on(archive, tmp_path):
    cut, no_video, empty = tmp_path / "cut.mp4", tmp_path / "no video.mp4", tmp_path / "empty.mp4"
    spoilt = tmp_path / "stack"
    spoilt.mkdir()
    (spoilt / "1.png").write_bytes((archive / "part.png").read_bytes()[:100])
    cut.write_bytes((archive / "1.mp4").read_bytes()[:3000])
    no_video.write_text("nothing of the kind")
    empty.touch()
    half = tmp_path / "4.half.mkv"
    half.write_bytes((archive / "4.mkv").read_bytes()[:(archive / "4.mkv").stat().st_size // 2])
    rest = len(units.frames_of(half, []))
    out = tmp_path / "out"
    files = half, cut, no_video, archive / "4.mkv", empty, spoilt, tmp_path / "gone.mp4"
    run = subprocess.run(of_search(archive, out, *files), text=True, capture_output=True)
    assert run.returncode == 2
    assert run.stdout == f"{100 + rest} frames searched, 5 of 7 files failed\n", run.stderr
    assert f"{half}: its video ends at" in run.stderr
    for name in cut, no_video, empty, spoilt, tmp_path / "gone.mp4":
        assert f"{name}: " in run.stderr
    lost, doubled, wrong = faults(out, {"4.mkv": 100, "4.half.mkv": rest})
    assert (lost, doubled) == (0, 0) and wrong <= 1  # the frame that is cut


def test_what_stands_still_is_told():
    """What reads has ended, and neither a frame nor an error came of it."""
    gst = _gstreamer.Gst

    def cut(pipeline):
        kinds = gst.PadProbeType.BUFFER | gst.PadProbeType.EVENT_DOWNSTREAM
        pipeline.get_by_name("end").get_static_pad("sink").add_probe(kinds, lambda *_: gst.PadProbeReturn.DROP)
    with pytest.raises(_gstreamer.PipelineError, match="nothing reads it any more"):
        with _gstreamer.running("fakesrc num-buffers=3 ! fakesink name=end", prepare=cut):
            pass


@pytest.mark.parametrize("name, muxer", [("4.mkv", "matroskamux"), ("4.mp4", "mp4mux faststart=true")])
def test_what_is_there_of_a_truncated_video_is_searched(wanted, tmp_path, name, muxer):
    file = make_video(tmp_path / name, 4, 100, muxer=muxer)
    assert oddities(file, wanted) == []
    file.write_bytes(file.read_bytes()[:file.stat().st_size * 6 // 10])
    assert any("it may be truncated" in warning for warning in oddities(file, wanted))
    frames = sum(tried(unit, tmp_path) for unit in units.units_of(file, wanted, 25))
    assert 40 < frames < 80
    lost, doubled, wrong = faults(tmp_path, {name: frames})
    assert (lost, doubled) == (0, 0) and wrong <= 1  # the frame that is cut


def oddities(file, wanted):
    warnings = []
    units.units_of(file, wanted, 25, warnings)
    return warnings


def test_frames_that_cannot_be_decoded(archive, wanted, tmp_path):
    """In the middle of a file everything else of which is right."""
    file = tmp_path / "5.avi"
    content = bytearray((archive / "5.avi").read_bytes())
    middle = content.index(b"\xff\xd8\xff", len(content) // 2)  # where a JPEG begins
    content[middle:middle + 2000] = bytes(2000)
    file.write_bytes(content)
    failed = [unit for unit in units.units_of(file, wanted, 25) if not tried(unit, tmp_path)]
    assert len(failed) == 1
    assert faults(tmp_path, {"5.avi": 100})[1:] == (0, 0)


def tried(unit, folder):
    try:
        return search.search_unit(unit, folder)[0]
    except (search.Incomplete, _gstreamer.PipelineError):
        return 0


def test_a_template_larger_than_the_video(archive, tmp_path):
    large = tmp_path / "large.png"
    make_template(large, (129, 24))
    wanted = units.Search((str(large),), tuple(SETTINGS.items()), "search")
    searched, warnings = search.search_unit(units.units_of(archive / "4.mkv", wanted, 100)[0], tmp_path)
    assert searched == 100 and not any(row["peaks"] for row in rows(tmp_path))
    assert len(warnings) == 1 and "large.png' of 24x129 pixels is larger than the 192x128" in warnings[0]


def test_a_plugin_that_is_not_there(archive, tmp_path):
    nowhere = {**os.environ, "GST_PLUGIN_PATH_1_0": "", "GST_PLUGIN_PATH": "", "GST_PLUGIN_SYSTEM_PATH_1_0": "",
               "GST_REGISTRY_1_0": str(tmp_path / "registry")}
    run = subprocess.run(of_search(archive, tmp_path / "out", archive / "1.mp4"), env=nowhere, text=True,
                         capture_output=True)
    assert run.returncode == 2 and "Traceback" not in run.stderr
    assert 'no element "cudaxcorr": set GST_PLUGIN_PATH_1_0 to the folder of libgstcudaxcorr.so' in run.stderr


@pytest.mark.parametrize("options, text", [
    (["--set", "nonsense=1"], "cudaxcorr has no property 'nonsense'"),
    (["--set", "track=true"], "targets cannot be followed"),
    (["--template", "/gone.png"], "/gone.png"),
])
def test_bad_arguments(archive, tmp_path, options, text):
    run = subprocess.run(command("search", "--template", archive / "part.png", "--out", tmp_path, archive / "1.mp4",
                                 *options), text=True, capture_output=True)
    assert run.returncode == 2 and text in run.stderr and "Traceback" not in run.stderr


@pytest.mark.parametrize("module, name", [("ray", "Ray"), ("pyarrow", "pyarrow"), ("tqdm", "tqdm"),
                                          ("gi", "PyGObject")])
def test_what_is_not_installed(archive, tmp_path, module, name):
    code = f"import sys; sys.modules[{module!r}] = None; sys.argv[0] = 'archive'; " \
           "import runpy; runpy.run_module('xcorr.archive', run_name='__main__')"
    run = subprocess.run([sys.executable, "-c", code, "search", "--template", archive / "part.png", "--out",
                          tmp_path / "out", archive / "1.mp4"], text=True, capture_output=True)
    assert run.returncode == 2
    assert f"xcorr: {name} is missing" in run.stderr and "Traceback" not in run.stderr
