# SPDX-License-Identifier: LGPL-2.1-or-later
"""What xcorr-field reads: depths, orders of bytes, colours, sizes."""
import struct

import numpy
import pytest

from test_field import shifted
from test_field_command import WHOLE, medians
from xcorr.field import images
from xcorr.field.__main__ import main

Image = pytest.importorskip("PIL.Image")


def test_deep_images(tmp_path):
    names = []
    for x in (0, 3):
        names.append(str(tmp_path / f"{x}.png"))
        deep = 30000 + shifted(x, 0).astype("u2") // 4  # less than a step of 8 bits
        Image.fromarray(deep).save(names[-1])
    read = images.read_image(tmp_path / "0.png")
    assert read.dtype == numpy.uint16 and (read == 30000 + shifted(0, 0).astype("u2") // 4).all()
    out = tmp_path / "field.csv"
    assert main([*names, "-o", str(out), "-q", *WHOLE]) == 0
    assert medians(out) == {"1": -3}


def test_folders_are_read_as_the_element_reads_them(tmp_path):
    for name in ("b.PNG", "a.pbm", "c.pnm", "._b.png", "notes.txt"):
        (tmp_path / name).touch()
    assert [path.name for path in images.in_folder(tmp_path)] == ["a.pbm", "b.PNG", "c.pnm"]


def tiff(pixels, big):
    """Uncompressed, of 16 bits, in either order of bytes: a header, the entries that are needed, the pixels."""
    height, width = pixels.shape
    entries = [(256, width), (257, height), (258, 16), (259, 1), (262, 1), (273, 8 + 2 + 9 * 12 + 4), (277, 1),
               (278, height), (279, 2 * pixels.size)]
    order = ">" if big else "<"
    table = b"".join(struct.pack(order + "HHII", tag, 4, 1, value) for tag, value in entries)
    return (struct.pack(order + "2sHI", b"MM" if big else b"II", 42, 8) + struct.pack(order + "H", len(entries)) + table
            + bytes(4) + pixels.astype(order + "u2").tobytes())


@pytest.mark.parametrize("big", [False, True])
def test_deep_images_in_either_order_of_bytes(tmp_path, big):
    deep = 30000 + shifted(0, 0).astype("u2") // 4
    (tmp_path / "deep.tif").write_bytes(tiff(deep, big))
    with Image.open(tmp_path / "deep.tif") as image:
        assert image.mode == ("I;16B" if big else "I;16")
    read = images.read_image(tmp_path / "deep.tif")
    assert read.dtype == numpy.uint16 and read.dtype.isnative and (read == deep).all()


def test_colours(tmp_path):
    colours = numpy.zeros((2, 3, 3), "u1")
    colours[0] = numpy.diag([255, 255, 255])
    colours[1] = 77
    Image.fromarray(colours).save(tmp_path / "colours.png")
    assert images.read_image(tmp_path / "colours.png").tolist() == [[76, 150, 29], [77, 77, 77]]


def pgm(path, width, height, pixels):
    """With so many zeros, which the disk does not hold."""
    with open(path, "wb") as file:
        file.write(f"P5 {width} {height} 255\n".encode())
        file.truncate(file.tell() + pixels)


def test_large_images(tmp_path):
    pgm(tmp_path / "large.pgm", 16384 + 512, 16384, (16384 + 512) * 16384)
    limit = Image.MAX_IMAGE_PIXELS
    read = images.read_image(tmp_path / "large.pgm")
    assert read.shape == (16384, 16384 + 512) and read.dtype == numpy.uint8
    assert Image.MAX_IMAGE_PIXELS == limit


def test_images_that_are_too_large_are_named(series, tmp_path, capsys):
    pgm(series / "1.pgm", 32768, 16385, 0)
    Image.new("L", (4, 4)).save(series / "2a.bmp")
    bitmap = bytearray((series / "2a.bmp").read_bytes())
    bitmap[18:26] = struct.pack("<ii", 1 << 30, 1 << 20)  # its width and height
    (series / "2a.bmp").write_bytes(bitmap)
    limit, out = Image.MAX_IMAGE_PIXELS, tmp_path / "field.csv"
    assert main([str(series), "-o", str(out), "-q", *WHOLE]) == 2
    assert medians(out) == {"2": -1, "3": -2, "5": -3}
    assert capsys.readouterr().err.splitlines() == [
        f"xcorr: {series / '1.pgm'}: it has 32768x16385 pixels, more than 536870912",
        f"xcorr: {series / '2a.bmp'}: it has 1073741824x1048576 pixels, more than 536870912"]
    assert Image.MAX_IMAGE_PIXELS == limit
    assert main([str(series / "0.png"), str(series / "1.png"), "--mask", str(series / "1.pgm"), *WHOLE]) == 2
    assert "1.pgm: it has 32768x16385 pixels" in capsys.readouterr().err


def test_what_images_are_read_as():
    for kind, made in (("u1", "u1"), ("u2", "u2"), ("i4", "u2"), ("f4", "f4"), ("f8", "f4"), ("?", "u1")):
        assert images.to_gray(numpy.ones((2, 3), kind)).dtype == made
    assert images.to_gray(numpy.array([[-1, 70000]])).dtype == "f4"


def test_images_of_other_types_are_named(series, tmp_path, capsys):
    Image.fromarray(shifted(1, 0).astype("u2")).save(series / "1.png")
    out = tmp_path / "field.csv"
    assert main([str(series), "-o", str(out), "-q", *WHOLE]) == 2
    assert medians(out) == {"2": -3, "3": -3}
    assert "1.png: its pixels are of uint16, those of the reference of uint8" in capsys.readouterr().err
