/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the example applications have in common: a video named on the command line, and a pipeline
 * that runs until the stream ends. What goes wrong is said on stderr, after the program's name.
 */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/* Reads the command line by these entries and GStreamer's own options, and starts GStreamer.
 * `summary`: for --help. */
gboolean play_parse_options(const GOptionEntry* entries, const char* summary, int argc, char** argv,
                            GError** error);

/* The gst-launch text of a source that plays a file or a URI; the caller's. */
char* play_source(const char* video);

/* FALSE when the stream ended with an error. Warnings are told, and it goes on. */
gboolean play(GstElement* pipeline);

G_END_DECLS
