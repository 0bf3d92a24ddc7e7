/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Finds parts at any angle in an image, prints where they are and draws them: all that is needed
 * of cudaxcorr for that. What is transparent in the template does not count.
 *
 *   find-parts --output=found.png image.jpg part.png
 *   find-parts --scales=0.8,1.25 --max-peaks=3 image.jpg part.png
 */
#include <gst/gst.h>

#include "gstcudaxcorrmeta.h"
#include "play.h"

typedef struct {
  char* output;     /* a PNG with what was found drawn into it; NULL: none */
  double threshold; /* the least score */
  int max_peaks;    /* parts at most */
  char* scales;     /* "least,most"; NULL: the template's size */
  char** operands;  /* image and template */
} Options;

static GstPadProbeReturn print_parts(GstPad* pad, GstPadProbeInfo* info, gpointer user_data) {
  const GstStructure* result = gst_cuda_xcorr_get_result(GST_PAD_PROBE_INFO_BUFFER(info));
  guint count = gst_cuda_xcorr_get_n_peaks(result);
  (void)pad;
  (void)user_data;
  for (guint i = 0; i < count; i++) {
    GstCudaXCorrPeak part;
    if (gst_cuda_xcorr_get_peak(result, i, &part))
      g_print("%s x=%.2f y=%.2f angle=%.2f scale=%.3f score=%.3f\n", part.label, part.center_x,
              part.center_y, part.angle, part.scale, part.score);
  }
  return GST_PAD_PROBE_OK;
}

static GstElement* make_pipeline(const Options* options, GError** error) {
  char* source = play_source(options->operands[0]);
  char* text = g_strdup_printf(
      "%s ! videoconvert ! cudaxcorr name=match angle-extent=360 post-messages=false ! %s", source,
      options->output != NULL ? "xcorroverlay show-label=false ! videoconvert ! pngenc "
                                "snapshot=true ! filesink name=output"
                              : "fakesink");
  GstElement* pipeline = gst_parse_launch_full(text, NULL, GST_PARSE_FLAG_FATAL_ERRORS, error);
  g_free(source);
  g_free(text);
  if (pipeline == NULL) return NULL;

  GstElement* match = gst_bin_get_by_name(GST_BIN(pipeline), "match");
  GstPad* pad = gst_element_get_static_pad(match, "src");
  g_object_set(match, "template", options->operands[1], "threshold", options->threshold,
               "max-peaks", (guint)options->max_peaks, NULL);
  if (options->scales != NULL) {
    char** range = g_strsplit(options->scales, ",", 2);
    g_object_set(match, "scale-min", g_ascii_strtod(range[0], NULL), "scale-max",
                 g_ascii_strtod(range[range[1] != NULL], NULL), NULL);
    g_strfreev(range);
  }
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, print_parts, NULL, NULL);
  gst_object_unref(pad);
  gst_object_unref(match);
  if (options->output != NULL) {
    GstElement* output = gst_bin_get_by_name(GST_BIN(pipeline), "output");
    g_object_set(output, "location", options->output, NULL);
    gst_object_unref(output);
  }
  return pipeline;
}

static gboolean parse_options(int argc, char** argv, Options* options, GError** error) {
  GOptionEntry entries[] = {
      {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options->output,
       "Write the image there, as PNG, with what was found drawn", "FILE"},
      {"threshold", 't', 0, G_OPTION_ARG_DOUBLE, &options->threshold, "The least score (0.7)", "S"},
      {"max-peaks", 'n', 0, G_OPTION_ARG_INT, &options->max_peaks, "Parts at most (32)", "N"},
      {"scales", 's', 0, G_OPTION_ARG_STRING, &options->scales, "Sizes as factors (1,1)",
       "LEAST,MOST"},
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->operands, NULL,
       "IMAGE TEMPLATE"},
      {NULL, 0, 0, 0, NULL, NULL, NULL}};
  if (!play_parse_options(entries, "IMAGE is a file or a URI, TEMPLATE an image file.", argc, argv,
                          error))
    return FALSE;
  if (options->operands == NULL || g_strv_length(options->operands) != 2) {
    g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
                        "needs an image and a template; see --help");
    return FALSE;
  }
  return TRUE;
}

int main(int argc, char** argv) {
  Options options = {.threshold = 0.7, .max_peaks = 32};
  GError* error = NULL;
  GstElement* pipeline = NULL;
  gboolean right = FALSE;
  if (parse_options(argc, argv, &options, &error) && (pipeline = make_pipeline(&options, &error))) {
    right = play(pipeline);
    gst_object_unref(pipeline);
  }
  if (error != NULL) g_printerr("find-parts: %s\n", error->message);
  g_clear_error(&error);
  g_free(options.output);
  g_free(options.scales);
  g_strfreev(options.operands);
  return right ? 0 : 1;
}
