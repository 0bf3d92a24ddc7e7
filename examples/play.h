/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Shared by the example applications: a video named on the command line, and a pipeline that runs
 * until the stream ends. Errors are reported on stderr, after the program's name.
 */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/* Parses the command line by these entries and GStreamer's own options, and initialises GStreamer.
 * `summary`: for --help. */
gboolean play_parse_options(const GOptionEntry* entries, const char* summary, int argc, char** argv,
                            GError** error);

/* The gst-launch text of a source that plays a file or a URI. Free with g_free(). */
char* play_source(const char* video);

/* Runs until the stream ends. FALSE if it ended with an error; warnings are only printed. */
gboolean play(GstElement* pipeline);

/* Decides what a message of the application, or the stream's end, means. FALSE: it is over. */
typedef gboolean (*PlayHandler)(GstElement* pipeline, GstMessage* message, gpointer user_data);

/* The same until the handler says that it is over. */
gboolean play_until(GstElement* pipeline, PlayHandler handler, gpointer user_data);

G_END_DECLS
