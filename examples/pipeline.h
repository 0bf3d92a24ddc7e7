/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the demo does with pipelines: one from a launch line, run to its end; pictures made here,
 * encoded into a file. Errors are said in one line on stderr.
 */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/* The name that cudaxcorr has in the pipelines. */
#define MATCH_NAME "match"

/* All is well; anything wrong; a wrong command line; cudaxcorr found no device (Meson's code for a
 * skipped test). */
enum { EXIT_RIGHT = 0, EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_NO_DEVICE = 77 };

/* A picture, or a row of them: `draw` fills width x height pixels of 4 bytes, R G B and an unused
 * one. */
typedef struct {
  int width, height, count;
  void (*draw)(gconstpointer data, int index, guint8* rgbx);
  gconstpointer data;
} Pictures;

/* NULL: it cannot be made. */
GstElement* pipeline_parse(const char* description);

/* Runs the pipeline, which it takes, till its end, and gives an exit status. */
int pipeline_run(GstElement* pipeline);

/* Gives the element of that name a `location`. */
void pipeline_set_location(GstElement* pipeline, const char* name, const char* file);

/* Calls `probe` for each buffer that passes that pad of the element of that name. */
void pipeline_add_probe(GstElement* pipeline, const char* name, const char* pad,
                        GstPadProbeCallback probe, gpointer user_data);

/* Writes the pictures into a file, by what follows them in the launch line `encoder`. */
int pipeline_encode(const Pictures* pictures, int fps, const char* encoder, const char* file);

G_END_DECLS
