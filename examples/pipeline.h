/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The demo's pipelines: making one from a launch line, running it to its end, encoding generated
 * images into a file, decoding a photograph. Errors are reported in one line on stderr.
 */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/* The name that cudaxcorr has in the pipelines. */
#define MATCH_NAME "match"

/* Exit statuses: success; failure; wrong command line; cudaxcorr found no device (Meson's code for
 * a skipped test). */
enum { EXIT_RIGHT = 0, EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_NO_DEVICE = 77 };

/* An image, or a row of them: `draw` fills width x height pixels of 4 bytes, R G B and an unused
 * one. */
typedef struct {
  int width, height, count;
  void (*draw)(gconstpointer data, int index, guint8* rgbx);
  gconstpointer data;
} Images;

/* NULL if it cannot be made. */
GstElement* pipeline_parse(const char* description);

/* Runs the pipeline to its end, taking ownership, and returns an exit status. */
int pipeline_run(GstElement* pipeline);

/* Sets the property `location` of the element of that name. */
void pipeline_set_location(GstElement* pipeline, const char* name, const char* file);

/* Calls `probe` for each buffer that passes this pad of the element of that name. */
void pipeline_add_probe(GstElement* pipeline, const char* name, const char* pad,
                        GstPadProbeCallback probe, gpointer user_data);

/* Writes the images into a file through the elements of the launch line `encoder`. */
int pipeline_encode(const Images* images, int fps, const char* encoder, const char* file);

/* The pixels of one of the program's own photographs, which has that size: width x height of 4
 * bytes, R G B and an unused one. NULL if it cannot be decoded. Free with g_free(). */
guint8* pipeline_decode(const char* photograph, int width, int height);

G_END_DECLS
