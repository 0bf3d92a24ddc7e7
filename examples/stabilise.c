/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Holds the image of a shaking camera still: each frame is moved back by what the median window
 * of its displacement field has moved since the first frame. What moves in the image by itself
 * does not matter as long as it is less than half of it.
 *
 *   stabilise shaky.mp4
 *   stabilise --source "v4l2src ! decodebin" --sink "x264enc ! mp4mux ! filesink
 * location=still.mp4"
 */
#include <gst/gst.h>

#include <math.h>

#include "gstcudaxcorrfieldmeta.h"
#include "play.h"

typedef struct {
  char* source;    /* gst-launch text that ends in video; NULL: the first argument is a video */
  char* sink;      /* gst-launch text that takes video */
  char* backend;   /* auto, cpu, cuda */
  char** operands; /* what is left of the command line */
} Options;

/* How far the image has moved since the first frame, or the first after a cut. */
typedef struct {
  GstElement* box;
  double x, y;
} Way;

/* Called in the streaming thread for each buffer that leaves cudaxcorrfield: cuts off on one side
 * what it adds on the other. */
static GstPadProbeReturn move_back(GstPad* pad, GstPadProbeInfo* info, gpointer user_data) {
  Way* way = user_data;
  const GstStructure* field = gst_cuda_xcorr_get_field(GST_PAD_PROBE_INFO_BUFFER(info));
  const char* state = field != NULL ? gst_structure_get_string(field, "state") : NULL;
  double x = 0, y = 0;
  (void)pad;
  if (g_strcmp0(state, "cut") == 0) {
    way->x = way->y = 0;
  } else if (g_strcmp0(state, "measured") == 0 &&
             gst_structure_get(field, "median-x", G_TYPE_DOUBLE, &x, "median-y", G_TYPE_DOUBLE, &y,
                               NULL)) {
    way->x += x;
    way->y += y;
  }
  int right = (int)lround(way->x), down = (int)lround(way->y);
  g_object_set(way->box, "left", right, "right", -right, "top", down, "bottom", -down, NULL);
  return GST_PAD_PROBE_OK;
}

static GstElement* make_pipeline(const Options* options, Way* way, GError** error) {
  char* source =
      options->source != NULL ? g_strdup(options->source) : play_source(options->operands[0]);
  char* text = g_strdup_printf(
      "%s ! videoconvert ! cudaxcorrfield name=field subpixel=least-squares order=0 spacing=32 "
      "post-messages=false ! videobox name=box ! %s",
      source, options->sink);
  GstElement* pipeline = gst_parse_launch_full(text, NULL, GST_PARSE_FLAG_FATAL_ERRORS, error);
  g_free(source);
  g_free(text);
  if (pipeline == NULL) return NULL;

  GstElement* field = gst_bin_get_by_name(GST_BIN(pipeline), "field");
  GstPad* pad = gst_element_get_static_pad(field, "src");
  gst_util_set_object_arg(G_OBJECT(field), "backend", options->backend);
  way->box = gst_bin_get_by_name(GST_BIN(pipeline), "box");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, move_back, way, NULL);
  gst_object_unref(pad);
  gst_object_unref(field);
  return pipeline;
}

static gboolean parse_options(int argc, char** argv, Options* options, GError** error) {
  GOptionEntry entries[] = {
      {"source", 's', 0, G_OPTION_ARG_STRING, &options->source,
       "A gst-launch description of the source, instead of VIDEO", "TEXT"},
      {"sink", 'o', 0, G_OPTION_ARG_STRING, &options->sink,
       "A gst-launch description of what takes the result (a window)", "TEXT"},
      {"backend", 'b', 0, G_OPTION_ARG_STRING, &options->backend, "auto, cpu or cuda", "NAME"},
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->operands, NULL, "[VIDEO]"},
      {NULL, 0, 0, 0, NULL, NULL, NULL}};
  if (!play_parse_options(entries, "VIDEO is a file or a URI.", argc, argv, error)) return FALSE;
  if (options->source == NULL && options->operands == NULL) {
    g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED, "needs a video; see --help");
    return FALSE;
  }
  return TRUE;
}

int main(int argc, char** argv) {
  Options options = {.backend = g_strdup("auto"), .sink = g_strdup("videoconvert ! autovideosink")};
  Way way = {NULL, 0, 0};
  GError* error = NULL;
  GstElement* pipeline = NULL;
  gboolean right = FALSE;
  if (parse_options(argc, argv, &options, &error) &&
      (pipeline = make_pipeline(&options, &way, &error))) {
    right = play(pipeline);
    gst_object_unref(way.box);
    gst_object_unref(pipeline);
  }
  if (error != NULL) g_printerr("stabilise: %s\n", error->message);
  g_clear_error(&error);
  g_free(options.source);
  g_free(options.sink);
  g_free(options.backend);
  g_strfreev(options.operands);
  return right ? 0 : 1;
}
