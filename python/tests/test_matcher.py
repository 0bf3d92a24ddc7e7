# SPDX-License-Identifier: LGPL-2.1-or-later
import dataclasses
import gc
import pickle
import weakref

import cv2
import numpy
import pytest

import xcorr
from conftest import noise


def on_cpu(*arguments, **more):
    return xcorr.Matcher(*arguments, device="cpu", **more)


def test_a_bank_is_found(frame):
    places = [(5, 6), (30, 20), (61, 40)]
    bank = [frame[y:y + 9 + i, x:x + 8 + i] for i, (x, y) in enumerate(places)]
    peaks = on_cpu(bank, threshold=0.9, subpixel=False).match(frame)
    assert peaks.dtype == xcorr.PEAK
    assert list(peaks["template_index"]) == [0, 1, 2]
    assert list(zip(peaks["x"], peaks["y"])) == places
    assert list(peaks["width"]) == [8, 9, 10] and list(peaks["height"]) == [9, 10, 11]
    assert (peaks["score"] == 1).all() and (peaks["closeness"] == 1).all()
    assert list(peaks["pose"]["center_x"]) == [x + (7 + i) / 2 for i, (x, _) in enumerate(places)]
    assert (peaks["pose"]["scale"] == 1).all()


def test_no_peaks_are_an_empty_array(frame):
    for matcher in (on_cpu(), on_cpu([noise((9, 9), 5)], threshold=1)):
        peaks = matcher.match(frame)
        assert peaks.dtype == xcorr.PEAK and peaks.shape == (0,)


def test_settings_change_between_frames(frame):
    matcher = on_cpu([frame[10:20, 30:42]], max_peaks=4, threshold=-1.0)
    assert len(matcher.match(frame)) == 4
    matcher.settings = dataclasses.replace(matcher.settings, max_peaks=1, method=xcorr.TM_SQDIFF)
    peaks = matcher.match(frame)
    assert len(peaks) == 1 and peaks["score"][0] == 0
    matcher.settings = dataclasses.replace(matcher.settings, search_region=(0, 0, 40, 60), method="ccoeff-normed")
    assert matcher.match(frame)["score"][0] < 1
    assert matcher.score(frame).shape == (51, 29)
    assert matcher.kernel != ""


def test_kernels_by_name(frame):
    matcher = on_cpu([frame[10:20, 30:42]], kernel="direct")
    matcher.match(frame)
    assert matcher.kernel == "direct"
    with pytest.raises(ValueError, match="'quick'.*there are"):
        matcher.settings = dataclasses.replace(matcher.settings, kernel="quick")
    assert matcher.settings.kernel == "direct"


@pytest.mark.parametrize("name, value, error", [
    ("threshold", 1.5, ValueError), ("max_peaks", 0, ValueError), ("max_peaks", "many", TypeError),
    ("overhang", 0.6, ValueError), ("prefilter_sigma", -1.0, ValueError), ("min_peak_distance", -1, ValueError),
    ("method", "best", ValueError),
    ("search_region", (1, 2, 3), TypeError), ("subpixel", "no", ValueError), ("subpixel", 1.5, TypeError),
    ("poses", 360, TypeError), ("polarity", "both", ValueError), ("polarity", 1, TypeError),
    ("weights", "some", TypeError), ("confirm_threshold", -1.0, ValueError), ("min_contrast", -1.0, ValueError),
    ("min_contrast", float("nan"), ValueError),
    ("subpixel_threshold", -1.5, ValueError), ("min_confidence", 1.5, ValueError),
    ("min_confidence", "much", TypeError),
])
def test_bad_settings_are_refused_and_the_old_ones_stay(frame, name, value, error):
    matcher = on_cpu([frame[10:20, 30:42]])
    with pytest.raises(error):
        matcher.settings = dataclasses.replace(matcher.settings, **{name: value})
        matcher.match(frame)
    matcher.settings = xcorr.Settings()
    assert len(matcher.match(frame)) == 1


def test_matches_of_either_contrast(frame):
    template = frame[10:20, 30:42].copy()
    frame = frame.copy()
    frame[35:45, 60:72] = 255 - template
    same = on_cpu([template], threshold=0.9, max_peaks=4, subpixel=False)
    assert [peak["inverted"] for peak in same.match(frame)] == [False]
    same.settings = dataclasses.replace(same.settings, polarity="inverted")
    peaks = same.match(frame)
    assert list(zip(peaks["x"], peaks["y"], peaks["score"], peaks["inverted"])) == [(60, 35, 1, True)]
    same.settings = dataclasses.replace(same.settings, polarity="either")
    peaks = same.match(frame)
    assert list(zip(peaks["x"], peaks["y"], peaks["inverted"])) == [(30, 10, False), (60, 35, True)]
    with pytest.raises(ValueError, match="polarity: the sign of scores by sqdiff says nothing"):
        same.settings = dataclasses.replace(same.settings, method="sqdiff", polarity="either")


def test_confidence(frame):
    """Of one of two identical parts it is low, unless both are asked for."""
    template = frame[10:20, 30:42].copy()
    assert on_cpu([template]).match(frame)["confidence"].tolist() == [-1]
    once = on_cpu([template], min_confidence=0.5)
    assert once.match(frame)["confidence"] > 0.9
    twice = frame.copy()
    twice[35:45, 60:72] = template
    assert len(once.match(twice)) == 0
    found = on_cpu([template], min_confidence=0.5, max_peaks=2).match(twice)
    assert (found["confidence"] > 0.9).tolist() == [True, True]
    with pytest.raises(ValueError, match="min_confidence: how sure a place is, is known for ccoeff-normed"):
        on_cpu([template], min_confidence=0.5, method="sqdiff")


def test_flat_places_are_no_match(frame):
    template = frame[10:20, 30:42]
    spread = float(template.std())
    for contrast, count in ((0.99 * spread, 1), (1.01 * spread, 0)):
        assert len(on_cpu([template], threshold=0.9, min_contrast=contrast).match(frame)) == count


def test_parts_across_the_border(frame):
    part = noise((20, 24), 5)
    cut = frame.copy()
    cut[:15, :16] = part[5:, 8:]
    assert len(on_cpu([part], threshold=0.9).match(cut)) == 0
    peaks = on_cpu([part], threshold=0.9, overhang=0.5).match(cut)
    assert len(peaks) == 1 and peaks["score"][0] == 1
    assert abs(peaks["x"][0] + 8) < 0.1 and abs(peaks["y"][0] + 5) < 0.1
    with pytest.raises(ValueError, match="overhang: scores by sqdiff grow"):
        on_cpu([part], method="sqdiff", overhang=0.5)


def test_unknown_settings_are_refused():
    with pytest.raises(TypeError, match="brightness"):
        on_cpu(brightness=3)
    with pytest.raises(ValueError, match="no such colours"):
        on_cpu(colours="hsv")


def test_masks(frame):
    template = frame[10:20, 30:42].copy()
    template[:, :4] = 0
    mask = numpy.ones(template.shape, bool)
    mask[:, :4] = False
    assert on_cpu([template]).match(frame)["score"][0] < 1
    matcher = on_cpu([template, template], [mask, None], threshold=-1.0, subpixel=False)
    peaks = matcher.match(frame)
    assert peaks["score"][0] == 1 and (peaks["x"][0], peaks["y"][0]) == (30, 10)
    assert peaks["score"][1] < 1
    with pytest.raises(ValueError, match="1 masks for 2 templates"):
        matcher.set_templates([template, template], [mask])
    assert len(matcher.match(frame)) == 2


@pytest.mark.parametrize(("kind", "gain"), [("u1", 1), ("u2", 257), ("f4", 1 / 255)])
def test_poses(kind, gain):
    generator = numpy.random.default_rng(3)
    part = cv2.GaussianBlur(generator.integers(0, 256, (48, 48), "u1"), (0, 0), 2)
    part = cv2.normalize(part, None, 0, 255, cv2.NORM_MINMAX)
    scene = numpy.full((200, 200), 90, "u1")
    turn = cv2.getRotationMatrix2D((23.5, 23.5), 33, 1.25)
    turn[:, 2] += (80, 60)
    cv2.warpAffine(part, turn, (200, 200), scene, borderMode=cv2.BORDER_TRANSPARENT)
    part, scene = ((image * gain).astype(kind) for image in (part.astype("f8"), scene.astype("f8")))
    matcher = on_cpu([part], poses=xcorr.Poses(angle_extent=360, scale_min=0.8, scale_max=1.4), threshold=0.7)
    peaks = matcher.match(scene)
    assert len(peaks) == 1
    pose = peaks["pose"][0]
    assert abs(pose["angle"] - 33) < 0.5 and abs(pose["scale"] - 1.25) < 0.02
    assert abs(pose["center_x"] - 103.5) < 0.5 and abs(pose["center_y"] - 83.5) < 0.5


def test_scores_and_responses(frame):
    bank = [frame[10:20, 30:42], frame[5:9, 5:9]]
    matcher = on_cpu(bank, method="sqdiff")
    for index, template in enumerate(bank):
        scores = matcher.score(frame, index)
        numpy.testing.assert_array_equal(scores, xcorr.match_template(frame, template, method="sqdiff"))
        out = numpy.empty_like(scores)
        assert matcher.score(frame, index, out=out) is out
        numpy.testing.assert_array_equal(out, scores)
        closeness = matcher.respond(frame, index)
        assert closeness.max() == 1
        squares = (template.astype("f8") ** 2).sum()
        numpy.testing.assert_allclose(closeness, 1 - scores / squares, atol=1e-6)
    with pytest.raises(ValueError, match="no template 2"):
        matcher.score(frame, 2)
    with pytest.raises(ValueError, match="no template 2"):
        matcher.respond(frame, 2)


@pytest.mark.parametrize("colours", ["", "rgb"])
def test_batches_are_stacked(colours):
    frames = noise((4, 30, 40, 3) if colours else (4, 30, 40), 3)
    matcher = on_cpu([frames[1, 5:14, 6:18], frames[3, 9:20, 9:20]], threshold=0.9, colours=colours)
    numbers, peaks = matcher.match_batch(frames)
    assert list(numbers) == [1, 3] and list(peaks["template_index"]) == [0, 1] and peaks.dtype == xcorr.PEAK
    numpy.testing.assert_array_equal(matcher.match_batch(list(frames))[1], peaks)
    scores = matcher.score_batch(frames, 1)
    assert scores.shape == (4, 20, 30)
    for frame, each in zip(frames, scores):
        numpy.testing.assert_array_equal(each, matcher.score(frame, 1))
    numbers, peaks = matcher.match_batch([])
    assert numbers.shape == peaks.shape == (0,)
    with pytest.raises(ValueError, match="frames of a batch have one size; the scores of frame 1 have the shape"):
        matcher.score_batch([frames[0], frames[0][1:]])


@pytest.mark.parametrize("value", [numpy.nan, numpy.inf])
def test_what_is_not_finite_counts_as_0(value):
    frame = noise((200, 300), 1, "f4")
    bad = noise(frame.shape, 2) < 2
    bad[90:122, 140:190] = False
    matcher = on_cpu([frame[90:122, 140:190]], threshold=0.9, max_peaks=3)
    expected = matcher.match(numpy.where(bad, 0, frame))
    assert len(expected) == 1 and bad.sum() > 100
    numpy.testing.assert_array_equal(matcher.match(numpy.where(bad, numpy.float32(value), frame)), expected)


def test_templates_that_do_not_fit(frame):
    matcher = on_cpu([frame[:5, :5], noise((61, 3), 1)])
    assert len(matcher.match(frame)) == 1
    assert matcher.score(frame, 1).size == 0
    with pytest.raises(ValueError, match="template 1 of 3x61 does not fit"):
        matcher.all_fit(60, 80)
    matcher.all_fit(70, 80)


def test_colours():
    image = noise((40, 50, 3), 8)
    luma = ((image.astype("u4") @ numpy.array([77, 150, 29], "u4") + 128) // 256).astype("u1")
    expected = on_cpu([luma[10:20, 8:20]], threshold=-1.0, max_peaks=3).match(luma)
    for colours, array in (("rgb", image), ("bgr", image[..., ::-1]),
                           ("rgb", numpy.dstack([image, image[..., :1]]))):
        for frame in (array, numpy.pad(array, ((2, 2), (3, 3), (0, 0)))[2:-2, 3:-3]):
            matcher = on_cpu([frame[10:20, 8:20]], threshold=-1.0, max_peaks=3, colours=colours)
            numpy.testing.assert_array_equal(matcher.match(frame), expected)
            numpy.testing.assert_array_equal(matcher.match(luma), expected)
    with pytest.raises(ValueError, match="1, 3 or 4 channels"):
        matcher.match(noise((40, 50, 2)))
    with pytest.raises(TypeError, match="channels"):
        on_cpu(colours="rgb").match(noise((40, 50, 3), 1, "f4"))


@pytest.mark.parametrize("poses", [None, xcorr.Poses(angle_extent=20)])
def test_match_on_color(poses):
    image = numpy.full((60, 100, 3), 110, "u1")
    image[20:40, 10:35] = 210, 59, 110  # red and green of the luma of gray
    image[20:40, 60:85] = 10, 161, 110
    part = image[15:45, 5:40]
    for colours, frame, template in (("rgb", image, part), ("bgr", image[..., ::-1], part[..., ::-1]),
                                     ("rgb", numpy.dstack([image, image[..., :1]]), part)):
        matcher = on_cpu([template], threshold=0.9, max_peaks=3, colours=colours, match_on="color", poses=poses)
        peaks = matcher.match(frame)
        assert len(peaks) == 1 and peaks["score"][0] == 1
        numpy.testing.assert_allclose([peaks["x"][0], peaks["y"][0]], [5, 15], atol=0.01)
    assert matcher.score(image).shape == (31, 66)
    with pytest.raises(ValueError, match="the frame is gray: it has no colour to match on"):
        matcher.match(image[..., 0])
    with pytest.raises(ValueError, match="match_on is one of luma, color, edges, color-edges, not 'colour'"):
        on_cpu([part], match_on="colour")


def test_edges_of_color():
    image = numpy.full((60, 100, 3), 110, "u1")
    image[20:40, 10:35] = 210, 59, 110  # of the luma of gray
    part = image[10:50, :45]
    matcher = on_cpu([part], threshold=0.9, colours="rgb", match_on="color-edges")
    assert [tuple(peak) for peak in matcher.match(image)[["x", "y", "score"]]] == [(0, 10, 1)]
    with pytest.raises(ValueError, match="template 0 has too few edges, 0 pixels"):
        on_cpu([part], colours="rgb", match_on="edges").match(image)


def test_a_second_look_tells_icons_apart():
    icon = noise((24, 24), 5) // 2
    other = icon.copy()
    other[9:15, 9:15] += 60
    frame = numpy.full((40, 80), 60, "u1")
    frame[8:32, 5:29], frame[8:32, 45:69] = icon, other
    matcher = on_cpu([icon], threshold=0.8, max_peaks=2)
    assert len(matcher.match(frame)) == 2
    matcher.settings = dataclasses.replace(matcher.settings, confirm_threshold=6.0)
    peak, = matcher.match(frame)
    assert (peak["x"], peak["y"], peak["score"]) == (5, 8, 1)


def test_masks_that_are_weights():
    frame, part = noise((60, 80), 6), noise((16, 16), 7)
    weights = numpy.clip(400 - 6 * numpy.hypot(*numpy.ogrid[-7.5:8, -7.5:8]) ** 2, 0, 255).astype("u1")
    frame[20:36, 30:46] = numpy.where(weights > 0, part, 90)
    matcher = on_cpu([part], [weights], weights=True, subpixel="none")
    peak, = matcher.match(frame)
    assert (peak["x"], peak["y"], peak["score"]) == (30, 20, 1)
    # By the definition, at a place where it is no copy.
    window, w = frame[5:21, 3:19].astype("f8"), weights.astype("f8")
    f, t = (each - (w * each).sum() / w.sum() for each in (window, part.astype("f8")))
    expected = (w * f * t).sum() / numpy.sqrt((w * f * f).sum() * (w * t * t).sum())
    assert matcher.score(frame)[5, 3] == pytest.approx(expected, abs=1e-6)
    with pytest.raises(ValueError, match="weights are for normed methods"):
        on_cpu([part], [weights], weights=True, method="sqdiff").match(frame)


def outlined(fill, around):
    """A button with a frame inside, at (40, 30)."""
    image = numpy.full((90, 120), around, "u1")
    image[30:60, 40:80] = fill
    image[38:52, 48:72] = (fill + around) // 2
    return image


def test_match_on_edges():
    part = outlined(220, 120)[22:68, 32:88]
    matcher = on_cpu([part], threshold=0.9, match_on="edges")
    assert [tuple(peak) for peak in matcher.match(outlined(220, 120))[["x", "y", "score"]]] == [(32, 22, 1)]
    faint, = on_cpu([part], threshold=0.5, match_on="edges", edge_contrast=1.0).match(outlined(160, 120))
    assert (faint["x"], faint["y"]) == (32, 22) and faint["score"] > 0.75
    assert len(matcher.match(outlined(20, 120))) == 0  # darker than what is around it
    either = on_cpu([part], threshold=0.9, match_on="edges", polarity="either")
    for fill in (220, 20):
        peak, = either.match(outlined(fill, 120))
        assert (peak["x"], peak["y"]) == (32, 22) and peak["score"] > 0.95
    hidden = outlined(220, 120)
    hidden[45:] = 120
    peak, = on_cpu([part], threshold=0.3, match_on="edges").match(hidden)
    assert 0.4 < peak["score"] < 0.65
    with pytest.raises(ValueError, match="template 0 has too few edges, 0 pixels"):
        on_cpu([numpy.full((20, 20), 9, "u1")], match_on="edges").match(hidden)
    with pytest.raises(ValueError, match="edges are those of frames of u8, not of f32"):
        on_cpu([part.astype("f4")], match_on="edges").match(hidden.astype("f4"))
    turned, = on_cpu([part], threshold=0.8, match_on="edges", poses=xcorr.Poses(angle_extent=360)).match(
        numpy.rot90(outlined(160, 120)).copy())  # counter-clockwise
    assert abs(turned["pose"]["angle"] - 90) < 0.1 and turned["score"] > 0.9
    assert abs(turned["pose"]["center_x"] - 44.5) < 0.1 and abs(turned["pose"]["center_y"] - 60) < 0.6


def test_enqueue_and_collect(frame):
    matcher = on_cpu([frame[10:20, 30:42]])
    with pytest.raises(ValueError, match="no frame is enqueued"):
        matcher.collect()
    matcher.enqueue(frame)
    assert matcher.collect()["score"][0] == 1
    with pytest.raises(ValueError, match="no frame is enqueued"):
        matcher.collect()


def test_an_enqueued_frame_stays_alive_until_it_is_collected(frame):
    matcher = on_cpu([frame[10:20, 30:42]])
    mine = frame.copy()
    gone = weakref.ref(mine)
    matcher.enqueue(mine)
    del mine
    gc.collect()
    assert gone() is not None
    matcher.collect()
    gc.collect()
    assert gone() is None


def test_frames_of_several_sizes(frame):
    matcher = on_cpu([frame[10:20, 30:42]], subpixel=False)
    for _ in range(2):
        assert matcher.match(frame)["x"][0] == 30
        assert matcher.match(frame[5:40, 12:70])["x"][0] == 18


def test_live_templates(frame):
    live = xcorr.LiveTemplate(frame[10:20, 30:42], device="cpu")
    matchers = [on_cpu([live], subpixel=False), on_cpu([live], [numpy.ones((10, 12), "u1")], subpixel=False)]
    assert [matcher.match(frame)["x"][0] for matcher in matchers] == [30, 30]
    live.blend(frame, 3, 4, 1.0)
    assert live.version == 1
    numpy.testing.assert_array_equal(live.read(), frame[4:14, 3:15])
    assert [matcher.match(frame)["x"][0] for matcher in matchers] == [3, 3]
    with pytest.raises(ValueError, match="not wholly inside"):
        live.blend(frame, 75, 0, 0.5)
    with pytest.raises(ValueError, match="weight"):
        live.blend(frame, 0, 0, 2.0)
    with pytest.raises(TypeError, match="all live"):
        on_cpu([live, frame[:5, :5]])


def test_matchers_pickle_as_what_they_were_made_of(frame):
    template = frame[10:20, 30:42]
    matcher = on_cpu([template], [numpy.ones(template.shape, "u1")], threshold=0.25, max_peaks=3)
    copy = pickle.loads(pickle.dumps(matcher))
    assert copy.settings == matcher.settings and copy.device == "cpu"
    numpy.testing.assert_array_equal(copy.match(frame), matcher.match(frame))


def test_templates_are_copied(frame):
    template = frame[10:20, 30:42].copy()
    matcher = on_cpu([template])
    template[:] = 0
    assert matcher.match(frame)["score"][0] == 1


def test_the_stub_has_what_the_module_has():
    import ast
    import inspect
    import pathlib

    from xcorr import _xcorr
    stub = ast.parse((pathlib.Path(xcorr.__file__).parent / "_xcorr.pyi").read_text())
    names = {node.name: node for node in stub.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    names |= {node.target.id: node for node in stub.body if isinstance(node, ast.AnnAssign)}
    assert set(names) == {name for name in vars(_xcorr) if not name.startswith("__")}
    for name, node in names.items():
        if isinstance(node, ast.ClassDef):
            members = {getattr(each, "name", None) or each.target.id for each in node.body} - {"__init__"}
            assert members == {each for each, _ in inspect.getmembers(getattr(_xcorr, name))
                               if not each.startswith("_")}, name
