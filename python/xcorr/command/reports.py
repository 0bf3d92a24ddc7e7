# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reports of `xcorr watch`: a page, JSON or JUnit's XML, each one file with its pictures inside.

Labels come from names of files and may have any characters: what is no number goes through `_text` or a library.
"""
from __future__ import annotations

import base64
import dataclasses
import html
import io
import json
import pathlib
import re
from typing import Any
from xml.etree import ElementTree

from ..field.images import Unreadable, library, named

#: Pixels; frames of other shapes have borders.
THUMBNAIL = 320, 180


@dataclasses.dataclass
class Interval:
    """When a label was there; seconds since the first frame. `last` is None where it still is."""
    label: str
    first: float | None
    first_utc: str | None
    peak: dict[str, Any]
    unanalysed: int = 0
    thumbnail: bytes = b""
    last: float | None = None
    last_utc: str | None = None
    last_peak: dict[str, Any] | None = None
    unanalysed_after: int = 0
    last_thumbnail: bytes = b""


@dataclasses.dataclass
class Expectation:
    label: str
    within: float
    met: bool | None = None  # not decided yet
    interval: Interval | None = None


@dataclasses.dataclass
class Report:
    source: str
    templates: str
    expectations: list[Expectation]
    intervals: list[Interval] = dataclasses.field(default_factory=list)
    frames: int = 0
    analysed: int = 0
    seconds: float = 0
    took: float = 0
    size: tuple[int, int] = (0, 0)
    error: str = ""

    @property
    def passed(self) -> bool:
        if self.error:
            return False
        return all(each.met for each in self.expectations) if self.expectations else bool(self.intervals)


def picture(thumbnail: bytes) -> str:
    """As an address that has the picture itself; empty where there is none."""
    if not thumbnail:
        return ""
    pillow = library("PIL.Image", "thumbnails of reports", "pillow")
    file = io.BytesIO()
    pillow.frombytes("RGB", THUMBNAIL, thumbnail).save(file, "JPEG", quality=80)
    return "data:image/jpeg;base64," + base64.b64encode(file.getvalue()).decode()


def _as_json(report: Report) -> str:
    intervals = [{"label": each.label, "first": each.first, "first-utc": each.first_utc,
                  "unanalysed-before": each.unanalysed, "peak": each.peak,
                  "first-frame": picture(each.thumbnail) or None, "last": each.last, "last-utc": each.last_utc,
                  "unanalysed-after": each.unanalysed_after, "last-peak": each.last_peak,
                  "last-frame": picture(each.last_thumbnail) or None} for each in report.intervals]
    expected = [{"label": each.label, "within": each.within, "met": each.met,
                 "at": each.interval.first if each.interval else None} for each in report.expectations]
    return json.dumps({"source": report.source, "templates": report.templates, "passed": report.passed,
                       "error": report.error or None, "frames": report.frames, "analysed": report.analysed,
                       "seconds": report.seconds, "took": report.took, "expectations": expected,
                       "intervals": intervals},
                      indent=1)


def _valid(text: str) -> str:
    """Pages and XML have no other characters, escaped or not."""
    return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)


def _text(text: str) -> str:
    """Of a page."""
    return html.escape(_valid(text))


def _as_junit(report: Report) -> str:
    failed = [each for each in report.expectations if not each.met]
    suite = ElementTree.Element("testsuite", name=_valid(f"xcorr watch {report.source}"),
                                tests=str(len(report.expectations)), failures=str(len(failed)),
                                errors=str(int(bool(report.error))), time=f"{report.took:.3f}")
    for each in report.expectations:
        case = ElementTree.SubElement(suite, "testcase", classname="xcorr.watch", time=f"{each.within:g}",
                                      name=_valid(f"{each.label} within {each.within:g} s"))
        if each.interval:
            properties = ElementTree.SubElement(case, "properties")
            for name, thumbnail in (("first frame", each.interval.thumbnail),
                                    ("last frame", each.interval.last_thumbnail)):
                if thumbnail:
                    ElementTree.SubElement(properties, "property", name=name, value=picture(thumbnail))
        if not each.met:
            later = next((one for one in report.intervals if one.label == each.label), None)
            text = "it did not appear"
            if later and later.first is not None:
                text = f"it appeared after {later.first:.3f} s"
            ElementTree.SubElement(case, "failure", message=text)
    if report.error:
        case = ElementTree.SubElement(suite, "testcase", classname="xcorr.watch", name="the source")
        ElementTree.SubElement(case, "error", message=_valid(report.error))
    lines = [f"{_seconds(each.first)} to {_seconds(each.last)}: {each.label}" for each in report.intervals]
    ElementTree.SubElement(suite, "system-out").text = _valid("\n".join(lines))
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _seconds(time: float | None) -> str:
    return "the end" if time is None else f"{time:.3f} s"


_STYLE = """
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
body { max-width: 70em; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .4em .6em; border-bottom: 1px solid color-mix(in srgb, currentColor 20%,
  transparent);
  vertical-align: top; overflow-wrap: anywhere; }
figure { margin: 0; position: relative; width: 320px; max-width: 100%; }
figure img { width: 100%; display: block; }
figure svg { position: absolute; inset: 0; width: 100%; height: 100%; }
.yes { color: light-dark(#06652b, #6fdc97); } .no { color: light-dark(#a31621, #ff9b9b); }
.lane { fill: currentColor; opacity: .12; } .there { fill: #2f7de1; }
"""


def _figure(report: Report, thumbnail: bytes, peak: dict[str, Any] | None, caption: str) -> str:
    if not thumbnail:
        return ""
    box = ""
    if peak and all(report.size):
        width, height = THUMBNAIL
        scale = min(width / report.size[0], height / report.size[1])
        left, top = (width - scale * report.size[0]) / 2, (height - scale * report.size[1]) / 2
        box = (f'<svg viewBox="0 0 {width} {height}" aria-hidden="true"><rect x="{left + scale * peak["x"]:.1f}" '
               f'y="{top + scale * peak["y"]:.1f}" width="{scale * peak["width"]:.1f}" '
               f'height="{scale * peak["height"]:.1f}" fill="none" stroke="#ff3c1e" stroke-width="2"/></svg>')
    return f'<figure><img src="{picture(thumbnail)}" alt="{_text(caption)}">{box}</figure>'


def _timeline(report: Report) -> str:
    """A lane for each label, bars where it was there."""
    labels = list(dict.fromkeys(each.label for each in report.intervals))
    if not labels or not report.seconds:
        return ""
    rows = []

    def bar(one: Interval) -> str:
        first, last = (1000 * (time or 0) / report.seconds
                       for time in (one.first, report.seconds if one.last is None else one.last))
        return f'<rect class="there" x="{first:.2f}" y="0" height="14" width="{max(2, last - first):.2f}"/>'
    for label in labels:
        bars = "".join(bar(each) for each in report.intervals if each.label == label)
        rows.append(f'<tr><th scope="row">{_text(label)}</th><td style="width:75%"><svg viewBox="0 0 1000 14" '
                    'preserveAspectRatio="none" width="100%" height="14" aria-hidden="true"><rect class="lane" '
                    f'width="1000" height="14"/>{bars}</svg></td></tr>')
    return f"<h2>Timeline</h2><table>{''.join(rows)}</table>"


def _as_page(report: Report) -> str:
    verdict = "passed" if report.passed else "failed"
    parts = [f"<h1>{_text(report.source)}: {verdict}</h1>",
             f"<p>{report.frames} frames of {report.size[0]}x{report.size[1]} pixels, {report.analysed} analysed, "
             f"{report.seconds:.3f} s, in {report.took:.1f} s; pictures of {_text(report.templates)}</p>"]
    if report.error:
        parts.append(f'<p class="no">{_text(report.error)}</p>')
    if report.expectations:
        rows = "".join(
            f'<tr><td>{_text(each.label)}</td><td>{each.within:g} s</td><td class="{"yes" if each.met else "no"}">'
            f'{_seconds(each.interval.first) if each.interval else "did not appear"}</td></tr>'
            for each in report.expectations)
        parts.append(f"<h2>Expected</h2><table><tr><th>label</th><th>within</th><th>appeared</th></tr>{rows}</table>")
    parts.append(_timeline(report))
    rows = "".join(
        f"<tr><td>{_text(each.label)}</td>"
        f"<td>{_when(each.first, each.first_utc, each.unanalysed)}"
        f"{_figure(report, each.thumbnail, each.peak, each.label + ', the first frame')}</td>"
        f"<td>{_when(each.last, each.last_utc, each.unanalysed_after)}"
        f"{_figure(report, each.last_thumbnail, each.last_peak or each.peak, each.label + ', the last frame')}</td>"
        f"<td>{each.peak['x']:.0f}, {each.peak['y']:.0f}</td><td>{each.peak['score']:.4g}</td></tr>"
        for each in report.intervals)
    parts.append("<h2>What was there</h2><table><tr><th>label</th><th>first frame</th><th>last frame</th><th>place</th>"
                 f"<th>score</th></tr>{rows}</table>" if rows else "<p>Nothing was found.</p>")
    return ('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
            'content="width=device-width"><meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
            f'img-src data:; style-src \'unsafe-inline\'"><title>{_text(report.source)}: {verdict}</title>'
            f"<style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>\n")


def _when(time: float | None, utc: str | None, unanalysed: int) -> str:
    between = f"<br>unanalysed frames beside it: {unanalysed}" if unanalysed else ""
    return _text(_seconds(time)) + (f"<br>{_text(utc)}" if utc else "") + between


WRITERS = {".html": _as_page, ".json": _as_json, ".xml": _as_junit}


def kind_of(path: str) -> str:
    return pathlib.Path(path).suffix.lower()


def check(path: str) -> None:
    """What can be known before there is anything to write. Raises Unreadable."""
    if kind_of(path) not in WRITERS:
        raise Unreadable(f"{path}: a report ends with .html, .json or .xml")
    folder = pathlib.Path(path).parent
    if not folder.is_dir():
        raise Unreadable(f"{path}: there is no folder {folder}")
    if pathlib.Path(path).is_dir():
        raise Unreadable(f"{path}: it is a folder")


def write(report: Report, path: str) -> None:
    """By what the name ends with. Raises Unreadable."""
    try:
        pathlib.Path(path).write_text(WRITERS[kind_of(path)](report), encoding="utf-8")
    except OSError as error:
        raise Unreadable(named(path, error)) from None
