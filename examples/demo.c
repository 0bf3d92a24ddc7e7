/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The main task from end to end: encodes a clip of the scene (H.264 in MP4) and its target (PNG),
 * follows the target through the clip with cudaxcorr, across a while in which it is hidden, and
 * compares each position found with the true one. Then makes something to look at: the clip with
 * the results drawn into it, and a contact sheet of that.
 */
#include <glib/gstdio.h>
#include <gst/gst.h>
#include <math.h>

#include "contact_sheet.h"
#include "gstcudaxcorrmeta.h"
#include "pipeline.h"
#include "scene.h"

#define TOLERANCE_PX 1.0
#define SIGHTS_TO_COME_BACK 3
/* With one thread the clip is the same on all machines, and so is what the pages say of it. */
#define VIDEO_ENCODER \
  "video/x-raw,format=I420 ! x264enc speed-preset=veryfast bitrate=4000 threads=1 ! mp4mux"

typedef struct {
  char* out;     /* folder of the files, see Files */
  char* backend; /* auto, cpu or cuda */
  int frames;
  double threshold;
} Options;

typedef struct {
  char *clip, *patch, *truth, *annotated, *sheet;
} Files;

/* The result for the clip. */
typedef struct {
  int frames, found, wrong, lost;
  int in_view;         /* frames in a row with the target in full view */
  int ids;             /* different ones */
  gboolean refound;    /* seen again after it was lost, under the same id */
  guint64 id, lost_id; /* the last one seen; the one lost, until it is seen again; 0: none */
  double max_error;
  gint64 first_us, last_us; /* when the first and the last frame came out */
  char backend[16];
} Summary;

static gboolean write_truth(int frames, const char* file) {
  GString* text = g_string_new("frame,x,y,visible\n");
  for (int i = 0; i < frames; i++) {
    double x, y;
    scene_target_position(i, &x, &y);
    g_string_append_printf(text, "%d,%.3f,%.3f,%.3f\n", i, x, y, scene_target_visible(i));
  }
  gboolean written = g_file_set_contents(file, text->str, (gssize)text->len, NULL);
  g_string_free(text, TRUE);
  return written;
}

/* ---- following the target ------------------------------------------------------------------- */

/* Ids only grow, so one that differs from the last is new. */
static void note_track(const GstCudaXCorrPeak* peak, Summary* summary) {
  if (peak->id > summary->id) {
    summary->id = peak->id;
    summary->ids++;
  }
  if (peak->lost) {
    summary->lost++;
    if (g_str_equal(peak->state, "lost")) summary->lost_id = peak->id;
  } else if (summary->lost_id != 0) {
    summary->refound = peak->id == summary->lost_id;
    summary->lost_id = 0;
  }
}

/* What is found must be where the target is, and a target in full view must be found: one that
 * comes back in the third frame, by when it is sure. */
static void report_frame(GstBuffer* buffer, Summary* summary) {
  const GstStructure* result = gst_cuda_xcorr_get_result(buffer);
  GstCudaXCorrPeak peak;
  double x, y;
  int frame = summary->frames++;
  scene_target_position(frame, &x, &y);
  summary->in_view = scene_target_visible(frame) == 1 ? summary->in_view + 1 : 0;
  if (result != NULL)
    g_strlcpy(summary->backend, gst_structure_get_string(result, "backend"),
              sizeof summary->backend);
  gboolean known = gst_cuda_xcorr_get_peak(result, 0, &peak);
  if (known) note_track(&peak, summary);
  if (!known || peak.lost) {
    g_print("%5d         -        - %9.2f %8.2f       -       - %s\n", frame, x, y,
            known ? peak.state : "");
    if (summary->in_view >= SIGHTS_TO_COME_BACK) summary->wrong++;
    return;
  }
  double error = hypot(peak.x - x, peak.y - y);
  g_print("%5d %9.2f %8.2f %9.2f %8.2f %7.3f %7.4f %s\n", frame, peak.x, peak.y, x, y, error,
          peak.score, peak.state);
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

/* A pipeline that follows the target through the clip, continued by `rest`. NULL if it cannot be
 * made. */
static GstElement* following(const Files* files, const Options* options, const char* rest) {
  char* description = g_strdup_printf("filesrc name=source ! decodebin ! cudaxcorr name=" MATCH_NAME
                                      " track=true tracker=template redetect-interval=1 ! %s",
                                      rest);
  GstElement* pipeline = pipeline_parse(description);
  g_free(description);
  if (pipeline == NULL) return NULL;
  GstElement* match = gst_bin_get_by_name(GST_BIN(pipeline), MATCH_NAME);
  g_object_set(match, "template", files->patch, "threshold", options->threshold, NULL);
  gst_util_set_object_arg(G_OBJECT(match), "backend", options->backend);
  gst_object_unref(match);
  pipeline_set_location(pipeline, "source", files->clip);
  return pipeline;
}

static int follow_clip(const Files* files, const Options* options, Summary* summary) {
  GstElement* pipeline = following(files, options, "fakesink sync=false");
  if (pipeline == NULL) return EXIT_WRONG;
  pipeline_add_probe(pipeline, MATCH_NAME, "src", on_frame, summary);
  g_print("frame   found x  found y    true x   true y   error   score state\n");
  return pipeline_run(pipeline);
}

static int annotate_clip(const Files* files, const Options* options) {
  GstElement* pipeline =
      following(files, options,
                "xcorroverlay line-width=3 font-desc=\"Sans 16px\" ! videoconvert ! " VIDEO_ENCODER
                " ! filesink name=sink");
  if (pipeline == NULL) return EXIT_WRONG;
  pipeline_set_location(pipeline, "sink", files->annotated);
  return pipeline_run(pipeline);
}

/* ---- the program ---------------------------------------------------------------------------- */

static int make_clip(const Files* files, const Options* options) {
  Scene* scene = scene_new();
  if (scene == NULL) return EXIT_WRONG;
  Images clip = {SCENE_WIDTH, SCENE_HEIGHT, options->frames, scene_draw_frame, scene};
  Images patch = {TARGET_WIDTH, TARGET_HEIGHT, 1, scene_draw_target, scene};
  int result = pipeline_encode(&clip, SCENE_FPS, VIDEO_ENCODER, files->clip);
  if (result == EXIT_RIGHT) result = pipeline_encode(&patch, SCENE_FPS, "pngenc", files->patch);
  if (result == EXIT_RIGHT && !write_truth(options->frames, files->truth)) result = EXIT_WRONG;
  scene_free(scene);
  return result;
}

/* The last line, which is for programs to read. FALSE if the target was not followed correctly. */
static gboolean summarise(const Summary* summary, const Options* options) {
  double seconds = (double)(summary->last_us - summary->first_us) / G_USEC_PER_SEC;
  double fps = seconds > 0 ? (summary->frames - 1) / seconds : 0;
  /* The target may stay lost only if the clip ends before it reappears. */
  gboolean missing = summary->lost_id != 0 && scene_target_visible(options->frames - 1) == 1;
  g_print(
      "frames=%d found=%d max_error_px=%.3f backend=%s fps=%.1f ids=%d lost_frames=%d "
      "refound=%s\n",
      summary->frames, summary->found, summary->max_error, summary->backend, fps, summary->ids,
      summary->lost, summary->refound ? "yes" : "no");
  return summary->frames == options->frames && summary->wrong == 0 && summary->ids == 1 && !missing;
}

static int run(const Options* options) {
  Files files = {
      g_build_filename(options->out, "clip.mp4", NULL),
      g_build_filename(options->out, "patch.png", NULL),
      g_build_filename(options->out, "truth.csv", NULL),
      g_build_filename(options->out, "annotated.mp4", NULL),
      g_build_filename(options->out, "contact-sheet.png", NULL),
  };
  Summary summary = {.backend = "none"};
  int result = make_clip(&files, options);
  if (result == EXIT_RIGHT) result = follow_clip(&files, options, &summary);
  if (result == EXIT_RIGHT) result = annotate_clip(&files, options);
  if (result == EXIT_RIGHT)
    result = contact_sheet_write(files.annotated, options->frames, files.sheet);
  if (result == EXIT_RIGHT && !summarise(&summary, options)) result = EXIT_WRONG;
  g_free(files.clip);
  g_free(files.patch);
  g_free(files.truth);
  g_free(files.annotated);
  g_free(files.sheet);
  return result;
}

int main(int argc, char** argv) {
  Options options = {.frames = 150, .threshold = 0.85};
  GOptionEntry entries[] = {
      {"out", 'o', 0, G_OPTION_ARG_FILENAME, &options.out,
       "Folder for the clip, the patch and the truth", "FOLDER"},
      {"backend", 'b', 0, G_OPTION_ARG_STRING, &options.backend, "auto, cpu or cuda", "NAME"},
      {"frames", 'n', 0, G_OPTION_ARG_INT, &options.frames, "Length of the clip (150)", "N"},
      {"threshold", 't', 0, G_OPTION_ARG_DOUBLE, &options.threshold, "Least score (0.85)", "SCORE"},
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
