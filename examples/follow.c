/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Follows templates through a video and prints where they are, from the metas that cudaxcorr
 * attaches: the shape of an application that uses the element. Plain C, GStreamer only.
 *
 *   follow clip.mp4 patch.png
 *   follow rtsp://camera/stream left.png right.png --show
 *   follow --source "v4l2src ! decodebin" patch.png
 */
#include <gst/gst.h>

#include "gstcudaxcorrmeta.h"
#include "play.h"

typedef struct {
  char* source;    /* gst-launch text that ends in video; NULL: the first argument is a video */
  char* backend;   /* auto, cpu, cuda */
  int max_peaks;   /* of each template */
  gboolean show;   /* in a window */
  char** operands; /* what is left of the command line */
} Options;

/* Called in the streaming thread for each buffer that leaves cudaxcorr. */
static GstPadProbeReturn print_peaks(GstPad* pad, GstPadProbeInfo* info, gpointer user_data) {
  GstBuffer* buffer = GST_PAD_PROBE_INFO_BUFFER(info);
  const GstStructure* result = gst_cuda_xcorr_get_result(buffer);
  guint count = gst_cuda_xcorr_get_n_peaks(result);
  double seconds = (double)GST_BUFFER_PTS(buffer) / GST_SECOND;
  (void)pad;
  (void)user_data;
  for (guint i = 0; i < count; i++) {
    GstCudaXCorrPeak peak;
    if (gst_cuda_xcorr_get_peak(result, i, &peak))
      g_print("%.3f %s x=%.2f y=%.2f score=%.4f\n", seconds, peak.label, peak.x, peak.y,
              peak.score);
  }
  if (count == 0) g_print("%.3f -\n", seconds);
  return GST_PAD_PROBE_OK;
}

static void set_templates(GstElement* match, char** files) {
  GValue array = G_VALUE_INIT, file = G_VALUE_INIT;
  gst_value_array_init(&array, g_strv_length(files));
  g_value_init(&file, G_TYPE_STRING);
  for (; *files != NULL; files++) {
    g_value_set_string(&file, *files);
    gst_value_array_append_value(&array, &file);
  }
  g_object_set_property(G_OBJECT(match), "templates", &array);
  g_value_unset(&file);
  g_value_unset(&array);
}

static GstElement* make_pipeline(const Options* options, GError** error) {
  char** templates = options->operands;
  char* source = options->source != NULL ? g_strdup(options->source) : play_source(*templates++);
  char* text =
      g_strdup_printf("%s ! videoconvert ! cudaxcorr name=match ! %s", source,
                      options->show ? "videoconvert ! autovideosink" : "fakesink sync=false");
  GstElement* pipeline = gst_parse_launch_full(text, NULL, GST_PARSE_FLAG_FATAL_ERRORS, error);
  g_free(source);
  g_free(text);
  if (pipeline == NULL) return NULL;

  GstElement* match = gst_bin_get_by_name(GST_BIN(pipeline), "match");
  GstPad* pad = gst_element_get_static_pad(match, "src");
  set_templates(match, templates);
  gst_util_set_object_arg(G_OBJECT(match), "backend", options->backend);
  g_object_set(match, "max-peaks", (guint)options->max_peaks, "post-messages", FALSE, NULL);
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, print_peaks, NULL, NULL);
  gst_object_unref(pad);
  gst_object_unref(match);
  return pipeline;
}

static gboolean parse_options(int argc, char** argv, Options* options, GError** error) {
  GOptionEntry entries[] = {
      {"source", 's', 0, G_OPTION_ARG_STRING, &options->source,
       "A gst-launch description of the source, instead of VIDEO", "TEXT"},
      {"backend", 'b', 0, G_OPTION_ARG_STRING, &options->backend, "auto, cpu or cuda", "NAME"},
      {"max-peaks", 'n', 0, G_OPTION_ARG_INT, &options->max_peaks, "Peaks of each template (1)",
       "N"},
      {"show", 0, 0, G_OPTION_ARG_NONE, &options->show, "Show the video", NULL},
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->operands, NULL,
       "[VIDEO] TEMPLATE..."},
      {NULL, 0, 0, 0, NULL, NULL, NULL}};
  if (!play_parse_options(entries, "VIDEO is a file or a URI, each TEMPLATE an image file.", argc,
                          argv, error))
    return FALSE;

  guint wanted = options->source != NULL ? 1 : 2;
  if (options->operands == NULL || g_strv_length(options->operands) < wanted) {
    g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
                        "needs a video and a template; see --help");
    return FALSE;
  }
  return TRUE;
}

int main(int argc, char** argv) {
  Options options = {.backend = g_strdup("auto"), .max_peaks = 1};
  GError* error = NULL;
  GstElement* pipeline = NULL;
  gboolean right = FALSE;
  if (parse_options(argc, argv, &options, &error) && (pipeline = make_pipeline(&options, &error))) {
    right = play(pipeline);
    gst_object_unref(pipeline);
  }
  if (error != NULL) g_printerr("follow: %s\n", error->message);
  g_clear_error(&error);
  g_free(options.source);
  g_free(options.backend);
  g_strfreev(options.operands);
  return right ? 0 : 1;
}
