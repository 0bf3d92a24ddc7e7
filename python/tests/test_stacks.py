# SPDX-License-Identifier: LGPL-2.1-or-later
"""Archives of image stacks: folders of images and TIFF files of many pages."""
import sys

import numpy
import pytest

pytest.importorskip("pyarrow")
pillow = pytest.importorskip("PIL.Image")
tifffile = pytest.importorskip("tifffile")
pytest.importorskip("gi", reason="PyGObject is missing (Debian: python3-gi)")
from videos import TARGET, draw, place  # noqa: E402

from xcorr import _gstreamer  # noqa: E402
from xcorr.archive import search, stacks, summary, units  # noqa: E402

if not _gstreamer.Gst.ElementFactory.find("cudaxcorr"):
    pytest.skip("GStreamer has no element cudaxcorr", allow_module_level=True)

FRAMES, WHITE = 30, 4095


@pytest.fixture
def wanted(tmp_path):
    template = tmp_path / "part.png"
    pillow.fromarray(TARGET).save(template)
    return units.Search((str(template),), (("backend", "cpu"), ("threshold", "0.8")), "search", WHITE)


def wide(pixels):
    """Of 12 bits, from which `to_bytes` makes the same again."""
    return ((pixels.astype("u4") * WHITE + 127) // 255).astype("u2")


def coloured(pixels):
    return numpy.stack([pixels] * 3, axis=2)


def folder_of(path, name, made):
    """In an order that is not that of the names' letters: 1, 2, ... 10, 11."""
    path.mkdir()
    for number in range(FRAMES):
        pillow.fromarray(made(draw(1, number))).save(path / name.format(number + 1))
    (path / "notes.txt").write_text("no image")
    return path


def pages_of(path, made, **options):
    tifffile.imwrite(path, numpy.stack([made(draw(1, number)) for number in range(FRAMES)]), **options)
    return path


STACKS = {
    "PNG": lambda path: folder_of(path / "stack", "z{}.png", lambda pixels: pixels),
    "PNG of colours": lambda path: folder_of(path / "stack", "z{}.png", coloured),
    "PNG of 16 bits": lambda path: folder_of(path / "stack", "z{}.png", wide),
    "folder of TIFF": lambda path: folder_of(path / "stack", "z{}.tif", wide),
    "TIFF": lambda path: pages_of(path / "stack.tif", lambda pixels: pixels),
    "TIFF of 16 bits": lambda path: pages_of(path / "stack.tiff", wide, byteorder=">"),
    "TIFF of colours": lambda path: pages_of(path / "stack.TIF", coloured, photometric="rgb"),
    "ImageJ": lambda path: pages_of(path / "stack.tif", wide, imagej=True),
}


@pytest.mark.parametrize("kind", STACKS)
def test_stacks(kind, wanted, tmp_path):
    stack = STACKS[kind](tmp_path)
    made = units.units_of(stack, wanted, 12)
    assert [(unit.first, unit.last) for unit in made] == [(0, 12), (12, 24), (24, 30)]
    out = tmp_path / "out"
    out.mkdir()
    for unit in made:
        search.search_unit(unit, out)
    rows = sorted(summary.table_of(out).to_table().to_pylist(), key=lambda row: row["frame"])
    assert [(row["frame"], row["time"]) for row in rows] == [(n, n * 10**9) for n in range(FRAMES)]
    for row in rows:
        found = [(round(peak["x"]), round(peak["y"])) for peak in row["peaks"]]
        assert found == ([at] if (at := place(1, row["frame"])) else [])
        assert all(peak["score"] > 0.9999 for peak in row["peaks"])


def test_sixteen_bits_become_eight_by_the_stated_rule():
    values = numpy.array([[0, 8, 9, 2047, 4095, 4096, 65535]], "u2")
    assert stacks.to_bytes(values, 4095).tolist() == [[0, 0, 1, 127, 255, 255, 255]]
    assert stacks.to_bytes(numpy.array([[0, 128, 129, 65535]], "u2"), 65535).tolist() == [[0, 0, 1, 255]]


def test_an_image_that_changes_is_searched_again(wanted, tmp_path):
    stack = folder_of(tmp_path / "stack", "{}.png", lambda pixels: pixels)
    before = units.units_of(stack, wanted, 50)[0].name
    pillow.fromarray(draw(2, 5)).resize((50, 50)).save(stack / "5.png")
    assert units.units_of(stack, wanted, 50)[0].name != before


def outcomes(stack, wanted, out):
    """What is said of each unit of ten frames that failed, and how many frames the others have."""
    said, searched = [], 0
    for unit in units.units_of(stack, wanted, 10):
        try:
            searched += search.search_unit(unit, out)[0]
        except (ValueError, RuntimeError) as error:
            said.append(str(error))
    return said, searched


@pytest.mark.parametrize("spoil, text", [
    (lambda path: path.write_bytes(path.read_bytes()[:500]), "15.png: "),
    (lambda path: path.write_text("no image"), "15.png: "),
    (lambda path: pillow.fromarray(draw(1, 14)[:, :100]).save(path), "image 14 has another size"),
    (lambda path: pillow.fromarray(coloured(draw(1, 14))).save(path), "size or other channels"),
])
def test_a_bad_image_is_told_and_the_rest_goes_on(spoil, text, wanted, tmp_path):
    stack = folder_of(tmp_path / "stack", "{}.png", lambda pixels: pixels)
    spoil(stack / "15.png")
    said, searched = outcomes(stack, wanted, tmp_path)
    assert len(said) == 1 and text in said[0] and searched == 20


def test_a_truncated_tiff(wanted, tmp_path):
    stack = pages_of(tmp_path / "stack.tif", wide)
    stack.write_bytes(stack.read_bytes()[:stack.stat().st_size // 2])
    with pytest.raises(ValueError, match="stack.tif: .*invalid page offset"):
        units.units_of(stack, wanted, 10)


@pytest.mark.parametrize("make, text", [
    (lambda path: path.mkdir(), "there are no images in it"),
    (lambda path: path.write_text("nothing of the kind"), "stack.tif: "),
    (lambda path: [tifffile.imwrite(path, draw(1, 0)[:, :size], append=size < 100) for size in (100, 90)],
     "its pages are not of one shape"),
])
def test_what_is_no_stack(make, text, wanted, tmp_path):
    make(tmp_path / "stack.tif")
    with pytest.raises(ValueError, match=text):
        units.units_of(tmp_path / "stack.tif", wanted, 10)


def test_pixels_of_other_types(wanted, tmp_path):
    stack = pages_of(tmp_path / "stack.tif", lambda pixels: pixels.astype("f4"))
    said, _ = outcomes(stack, wanted, tmp_path)
    assert "float32; uint8 and uint16 are taken" in said[0]


def test_a_template_larger_than_the_images(wanted, tmp_path):
    stack = pages_of(tmp_path / "stack.tif", lambda pixels: pixels[:20, :20])
    searched, warnings = search.search_unit(units.units_of(stack, wanted, 50)[0], tmp_path)
    assert searched == FRAMES and len(warnings) == 1
    assert "part.png' of 24x24 pixels is larger than the 20x20 that are searched" in warnings[0]


@pytest.mark.parametrize("module, name, stack", [("tifffile", "tifffile", "TIFF"), ("PIL.Image", "Pillow", "PNG")])
def test_what_is_not_installed(module, name, stack, wanted, tmp_path, monkeypatch):
    path = STACKS[stack](tmp_path)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=f"{name} is missing.*pip install 'xcorr\\[stacks\\]'"):
        search.search_unit(units.units_of(path, wanted, 50)[0], tmp_path)
