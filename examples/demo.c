/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The main job from end to end: encodes a clip of the scene (H.264 in MP4) and its target (PNG),
 * follows the target through the clip with cudaxcorr, and compares each position found with the
 * true one.
 */
#include <glib/gstdio.h>
#include <gst/app/gstappsrc.h>
#include <gst/gst.h>
#include <math.h>

#include "gstcudaxcorrmeta.h"
#include "scene.h"

#define TOLERANCE_PX 1.0
#define MATCH_NAME "match"
#define VIDEO_ENCODER \
  "video/x-raw,format=I420 ! x264enc speed-preset=veryfast bitrate=4000 ! mp4mux"

/* A clip right to the pixel; anything wrong; a wrong command line; the backend asked for is not on
 * this machine (Meson's code for a skipped test). */
enum { EXIT_RIGHT = 0, EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_NO_BACKEND = 77 };

typedef struct {
  char* out;     /* folder of clip.mp4, patch.png and truth.csv */
  char* backend; /* auto, cpu or cuda */
  int frames;
  double threshold;
} Options;

/* What became of the clip. */
typedef struct {
  int frames, found, wrong;
  double max_error;
  gint64 first_us, last_us; /* when the first and the last frame came out */
  char backend[16];
} Summary;

/* ---- making the clip ------------------------------------------------------------------------ */

/* Waits for the pipeline's end and says in one line on stderr what error it ended with, if any. */
static int wait_for_end(GstElement* pipeline) {
  int result = EXIT_RIGHT;
  GstBus* bus = gst_element_get_bus(pipeline);
  GstMessage* message =
      gst_bus_timed_pop_filtered(bus, GST_CLOCK_TIME_NONE, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
    GError* error = NULL;
    const char* element = GST_OBJECT_NAME(GST_MESSAGE_SRC(message));
    gst_message_parse_error(message, &error, NULL);
    g_printerr("demo: %s: %s\n", element, error->message);
    gboolean no_backend = g_str_equal(element, MATCH_NAME) &&
                          g_error_matches(error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND);
    result = no_backend ? EXIT_NO_BACKEND : EXIT_WRONG;
    g_error_free(error);
  }
  gst_message_unref(message);
  gst_object_unref(bus);
  return result;
}

static GstElement* parse(const char* description) {
  GError* error = NULL;
  GstElement* pipeline =
      gst_parse_launch_full(description, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  if (pipeline == NULL) {
    g_printerr("demo: %s\n", error->message);
    g_error_free(error);
  }
  return pipeline;
}

/* Encodes `count` frames of the scene, or the target when `count` is 0, by what follows appsrc in
 * `encoder`, into a file. */
static int encode(const Scene* scene, int count, const char* encoder, const char* file) {
  int width = count ? SCENE_WIDTH : TARGET_WIDTH, height = count ? SCENE_HEIGHT : TARGET_HEIGHT;
  char* description = g_strdup_printf(
      "appsrc name=source format=time block=true caps=video/x-raw,format=RGBx,width=%d,height=%d,"
      "framerate=%d/1 ! videoconvert ! %s ! filesink name=sink",
      width, height, SCENE_FPS, encoder);
  GstElement* pipeline = parse(description);
  g_free(description);
  if (pipeline == NULL) return EXIT_WRONG;

  GstElement* source = gst_bin_get_by_name(GST_BIN(pipeline), "source");
  GstElement* sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
  g_object_set(sink, "location", file, NULL);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  gboolean flowing = TRUE;
  for (int i = 0; flowing && i < MAX(count, 1); i++) {
    gsize bytes = (gsize)4 * width * height;
    guint8* pixels = g_malloc(bytes);
    if (count)
      scene_draw_frame(scene, i, pixels);
    else
      scene_draw_target(scene, pixels);
    GstBuffer* buffer = gst_buffer_new_wrapped(pixels, bytes);
    GST_BUFFER_PTS(buffer) = gst_util_uint64_scale(i, GST_SECOND, SCENE_FPS);
    GST_BUFFER_DURATION(buffer) = GST_SECOND / SCENE_FPS;
    flowing = gst_app_src_push_buffer(GST_APP_SRC(source), buffer) == GST_FLOW_OK;
  }
  gst_app_src_end_of_stream(GST_APP_SRC(source));
  int result = wait_for_end(pipeline);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(source);
  gst_object_unref(sink);
  gst_object_unref(pipeline);
  return result;
}

static gboolean write_truth(int frames, const char* file) {
  GString* text = g_string_new("frame,x,y\n");
  for (int i = 0; i < frames; i++) {
    double x, y;
    scene_target_position(i, &x, &y);
    g_string_append_printf(text, "%d,%.3f,%.3f\n", i, x, y);
  }
  gboolean written = g_file_set_contents(file, text->str, (gssize)text->len, NULL);
  g_string_free(text, TRUE);
  return written;
}

/* ---- following the target ------------------------------------------------------------------- */

static void report_frame(GstBuffer* buffer, Summary* summary) {
  const GstStructure* result = gst_cuda_xcorr_get_result(buffer);
  GstCudaXCorrPeak peak;
  double x, y;
  int frame = summary->frames++;
  scene_target_position(frame, &x, &y);
  if (result != NULL)
    g_strlcpy(summary->backend, gst_structure_get_string(result, "backend"),
              sizeof summary->backend);
  if (!gst_cuda_xcorr_get_peak(result, 0, &peak)) {
    g_print("%5d         -        - %9.2f %8.2f       -       -\n", frame, x, y);
    summary->wrong++;
    return;
  }
  double error = hypot(peak.x - x, peak.y - y);
  g_print("%5d %9.2f %8.2f %9.2f %8.2f %7.3f %7.4f\n", frame, peak.x, peak.y, x, y, error,
          peak.score);
  summary->found++;
  summary->max_error = MAX(summary->max_error, error);
  if (error > TOLERANCE_PX) summary->wrong++;
}

/* Called in the streaming thread for each frame; the clock runs from the first to the last. */
static GstPadProbeReturn on_frame(GstPad* pad, GstPadProbeInfo* info, gpointer user_data) {
  Summary* summary = user_data;
  (void)pad;
  summary->last_us = g_get_monotonic_time();
  if (summary->frames == 0) summary->first_us = summary->last_us;
  report_frame(GST_PAD_PROBE_INFO_BUFFER(info), summary);
  return GST_PAD_PROBE_OK;
}

static int follow_clip(const char* clip, const char* patch, const Options* options,
                       Summary* summary) {
  GstElement* pipeline = parse("filesrc name=source ! decodebin ! cudaxcorr name=" MATCH_NAME
                               " ! fakesink sync=false");
  if (pipeline == NULL) return EXIT_WRONG;
  GstElement* source = gst_bin_get_by_name(GST_BIN(pipeline), "source");
  GstElement* match = gst_bin_get_by_name(GST_BIN(pipeline), MATCH_NAME);
  GstPad* pad = gst_element_get_static_pad(match, "src");
  g_object_set(source, "location", clip, NULL);
  g_object_set(match, "template", patch, "threshold", options->threshold, NULL);
  gst_util_set_object_arg(G_OBJECT(match), "backend", options->backend);
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_frame, summary, NULL);
  g_print("frame   found x  found y    true x   true y   error   score\n");
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  int result = wait_for_end(pipeline);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pad);
  gst_object_unref(source);
  gst_object_unref(match);
  gst_object_unref(pipeline);
  return result;
}

/* ---- the program ---------------------------------------------------------------------------- */

static int run(const Options* options) {
  char* clip = g_build_filename(options->out, "clip.mp4", NULL);
  char* patch = g_build_filename(options->out, "patch.png", NULL);
  char* truth = g_build_filename(options->out, "truth.csv", NULL);
  Scene* scene = scene_new();
  Summary summary = {.backend = "none"};
  int result = encode(scene, options->frames, VIDEO_ENCODER, clip);
  if (result == EXIT_RIGHT) result = encode(scene, 0, "pngenc", patch);
  if (result == EXIT_RIGHT && !write_truth(options->frames, truth)) result = EXIT_WRONG;
  if (result == EXIT_RIGHT) result = follow_clip(clip, patch, options, &summary);
  if (result == EXIT_RIGHT) {
    double seconds = (double)(summary.last_us - summary.first_us) / G_USEC_PER_SEC;
    double fps = seconds > 0 ? (summary.frames - 1) / seconds : 0;
    g_print("frames=%d found=%d max_error_px=%.3f backend=%s fps=%.1f\n", summary.frames,
            summary.found, summary.max_error, summary.backend, fps);
    if (summary.frames != options->frames || summary.wrong > 0) result = EXIT_WRONG;
  }
  scene_free(scene);
  g_free(clip);
  g_free(patch);
  g_free(truth);
  return result;
}

int main(int argc, char** argv) {
  Options options = {.frames = 90, .threshold = 0.5};
  GOptionEntry entries[] = {
      {"out", 'o', 0, G_OPTION_ARG_FILENAME, &options.out,
       "Folder for the clip, the patch and the truth", "FOLDER"},
      {"backend", 'b', 0, G_OPTION_ARG_STRING, &options.backend, "auto, cpu or cuda", "NAME"},
      {"frames", 'n', 0, G_OPTION_ARG_INT, &options.frames, "Length of the clip (90)", "N"},
      {"threshold", 't', 0, G_OPTION_ARG_DOUBLE, &options.threshold, "Least score (0.5)", "SCORE"},
      {NULL, 0, 0, 0, NULL, NULL, NULL}};
  GOptionContext* context =
      g_option_context_new("- follow a target through a clip made on the spot");
  GError* error = NULL;
  g_option_context_add_main_entries(context, entries, NULL);
  g_option_context_add_group(context, gst_init_get_option_group());
  gboolean parsed = g_option_context_parse(context, &argc, &argv, &error);
  g_option_context_free(context);
  if (!parsed) {
    g_printerr("demo: %s\n", error->message);
    g_error_free(error);
    return EXIT_USAGE;
  }
  if (options.out == NULL) options.out = g_strdup("demo");
  if (options.backend == NULL) options.backend = g_strdup("auto");
  if (options.frames < 1 || g_mkdir_with_parents(options.out, 0777) != 0) {
    g_printerr("demo: needs at least one frame and a folder it can write to\n");
    return EXIT_USAGE;
  }
  int result = run(&options);
  g_free(options.out);
  g_free(options.backend);
  return result;
}
