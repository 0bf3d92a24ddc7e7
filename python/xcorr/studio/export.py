# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the page has set, to take elsewhere: a program in C, one in Python, and a file for `xcorr fleet`.

Names of files come from outside: each form has its own way to write any text as a text.
"""
from __future__ import annotations

import json
import pathlib

_PYTHON = '''\
import json
import subprocess

line = [
{words}]
with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as pipeline:
    for frame in map(json.loads, pipeline.stdout):
{loop}'''

_PEAKS = '''\
        for peak in frame["peaks"]:
            print(frame["stream-time"], peak["label"], peak["id"], peak["state"],
                  f"{peak['x']:.2f} {peak['y']:.2f} {peak['score']:.3f}")
'''

_VECTORS = '''\
        field = frame["field"]
        print(frame["stream-time"], field["state"], f"{field['median-x']:.2f} {field['median-y']:.2f}")
        for x, y, dx, dy in zip(field["x"], field["y"], field["dx"], field["dy"]):
            print(f"{x:g} {y:g} {dx:.3f} {dy:.3f}")
'''

_C = '''\
/* gcc search.c -o search $(pkg-config --cflags --libs gstreamer-1.0) */
#include <gst/gst.h>

static const gchar *line[] = {{
{words}    NULL}};

static void print_frame(const GstStructure *frame) {{
  const GValue *peaks = gst_structure_get_value(frame, "peaks");
  guint64 time = 0;
  gst_structure_get_uint64(frame, "stream-time", &time);
  for (guint i = 0; i < gst_value_array_get_size(peaks); i++) {{
    const GstStructure *peak = gst_value_get_structure(gst_value_array_get_value(peaks, i));
    gdouble x = 0, y = 0, score = 0;
    guint64 id = 0;
    gst_structure_get(peak, "x", G_TYPE_DOUBLE, &x, "y", G_TYPE_DOUBLE, &y, "score", G_TYPE_DOUBLE, &score, "id",
                      G_TYPE_UINT64, &id, NULL);
    g_print("%" G_GUINT64_FORMAT " %s %" G_GUINT64_FORMAT " %s %.2f %.2f %.3f\\n", time,
            gst_structure_get_string(peak, "label"), id, gst_structure_get_string(peak, "state"), x, y, score);
  }}
}}

int main(int argc, char **argv) {{
  gst_init(&argc, &argv);
  GError *error = NULL;
  GstElement *pipeline = gst_parse_launchv(line, &error);
  if (error != NULL) {{
    g_printerr("%s\\n", error->message);
    return 1;
  }}
  GstBus *bus = gst_element_get_bus(pipeline);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  gboolean failed = FALSE;
  for (gboolean ended = FALSE; !ended;) {{
    GstMessage *message =
        gst_bus_timed_pop_filtered(bus, GST_CLOCK_TIME_NONE, GST_MESSAGE_ELEMENT | GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
    if (gst_message_has_name(message, "cudaxcorr")) print_frame(gst_message_get_structure(message));
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {{
      gst_message_parse_error(message, &error, NULL);
      g_printerr("%s\\n", error->message);
      g_error_free(error);
      failed = TRUE;
    }}
    ended = GST_MESSAGE_TYPE(message) != GST_MESSAGE_ELEMENT;
    gst_message_unref(message);
  }}
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(bus);
  gst_object_unref(pipeline);
  return failed;
}}
'''

_SETTINGS = '''\
# As fleet.yaml: xcorr fleet fleet.yaml
redis: "redis://127.0.0.1:6379"
cameras:
  studio:
    {source}
    templates:
{templates}    settings:
{settings}'''


def c_text(text: str) -> str:
    """A string of C. Octal numbers have three digits there, so what follows is no part of them."""
    plain = {byte: chr(byte) for byte in range(32, 127) if chr(byte) not in '"\\?'}  # "??" may be a trigraph
    return '"' + "".join(plain.get(byte, f"\\{byte:03o}") for byte in text.encode(errors="surrogateescape")) + '"'


def yaml_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def python(words: list[str]) -> str:
    return _python(words, _PEAKS)


def field_python(words: list[str]) -> str:
    """A line for each frame, with the median of the motion, and one for each window."""
    return _python(words, _VECTORS)


def _python(words: list[str], loop: str) -> str:
    return _PYTHON.format(words="".join(f"    {word!r},\n" for word in words), loop=loop)


def c(words: list[str]) -> str:
    """Of a pipeline, without the command that runs it."""
    return _C.format(words="".join(f"    {c_text(word)},\n" for word in words))


def settings(source: str, source_words: list[str], templates: list[str], properties: dict[str, str]) -> str:
    """`source_words` are used where `source` has no address."""
    if "://" in source:
        there = f"uri: {yaml_text(source)}"
    elif source.isdigit():
        there = f"source: {yaml_text(' '.join(source_words))}"
    else:
        there = f"uri: {yaml_text(pathlib.Path(source).resolve().as_uri())}"
    return _SETTINGS.format(source=there, templates="".join(f"      - {yaml_text(each)}\n" for each in templates),
                            settings="".join(f"      {name}: {yaml_text(value)}\n"
                                             for name, value in properties.items()))
