/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Shows a video in a window; drag a box in it, or click, and what is there is followed. The video
 * sink sends mouse events upstream as GstNavigation events. At cudaxcorr the box becomes the
 * template, by `capture-template`. A new box replaces it, another mouse button removes it.
 *
 *   click-to-track clip.mp4
 *   click-to-track --source "v4l2src ! decodebin"
 */
#include <cairo.h>
#include <gst/gst.h>
#include <gst/video/navigation.h>
#include <gst/video/video.h>

#include "gstcudaxcorrmeta.h"
#include "play.h"

#define CLICK_PX 6      /* a drag shorter than that, across and down, is a click */
#define CLICK_BOX_PX 48 /* and means a box of this size round it */

typedef struct {
  char *source, *sink, *backend;
  double threshold;
  char** operands;
} Options;

typedef struct {
  GstElement* match;
  guint template_id; /* 0: none */
  GMutex mutex;      /* of what follows: the mouse has a thread of its own */
  gboolean dragging;
  double from_x, from_y, to_x, to_y; /* pixels of the frame */
} App;

/* ---- the box -------------------------------------------------------------------------------- */

static void forget(App* app) {
  gboolean removed;
  if (app->template_id != 0)
    g_signal_emit_by_name(app->match, "remove-template", app->template_id, &removed);
  app->template_id = 0;
}

static void follow(App* app, const GstVideoRectangle* box) {
  forget(app);
  g_signal_emit_by_name(app->match, "capture-template", box->x, box->y, box->w, box->h,
                        &app->template_id);
  if (app->template_id != 0)
    g_print("template %u: %dx%d at %d,%d\n", app->template_id, box->w, box->h, box->x, box->y);
}

/* The part of the dragged box that is inside the frame. */
static gboolean box_of(App* app, GstPad* pad, GstVideoRectangle* box) {
  GstVideoInfo info;
  GstCaps* caps = gst_pad_get_current_caps(pad);
  gboolean known = caps != NULL && gst_video_info_from_caps(&info, caps);
  gst_clear_caps(&caps);
  if (!known) return FALSE;
  double left = MIN(app->from_x, app->to_x), right = MAX(app->from_x, app->to_x);
  double top = MIN(app->from_y, app->to_y), bottom = MAX(app->from_y, app->to_y);
  if (right - left < CLICK_PX && bottom - top < CLICK_PX) {
    left -= CLICK_BOX_PX / 2.0;
    top -= CLICK_BOX_PX / 2.0;
    right = left + CLICK_BOX_PX;
    bottom = top + CLICK_BOX_PX;
  }
  box->x = (int)CLAMP(left, 0, info.width);
  box->y = (int)CLAMP(top, 0, info.height);
  box->w = (int)CLAMP(right, 0, info.width) - box->x;
  box->h = (int)CLAMP(bottom, 0, info.height) - box->y;
  return TRUE;
}

/* Called in the window's thread for each event that the sink sends upstream. */
static GstPadProbeReturn on_event(GstPad* pad, GstPadProbeInfo* info, gpointer user_data) {
  App* app = user_data;
  GstEvent* event = GST_PAD_PROBE_INFO_EVENT(info);
  GstVideoRectangle box;
  gboolean dragged = FALSE;
  double x, y;
  int button;
  g_mutex_lock(&app->mutex);
  switch (gst_navigation_event_get_type(event)) {
    case GST_NAVIGATION_EVENT_MOUSE_BUTTON_PRESS:
      gst_navigation_event_parse_mouse_button_event(event, &button, &x, &y);
      app->dragging = button == 1;
      app->from_x = app->to_x = x;
      app->from_y = app->to_y = y;
      if (button != 1) forget(app);
      break;
    case GST_NAVIGATION_EVENT_MOUSE_MOVE:
      gst_navigation_event_parse_mouse_move_event(event, &app->to_x, &app->to_y);
      break;
    case GST_NAVIGATION_EVENT_MOUSE_BUTTON_RELEASE:
      gst_navigation_event_parse_mouse_button_event(event, &button, &app->to_x, &app->to_y);
      dragged = app->dragging && button == 1 && box_of(app, pad, &box);
      app->dragging = FALSE;
      break;
    default:
      break;
  }
  g_mutex_unlock(&app->mutex);
  if (dragged) follow(app, &box);
  return GST_PAD_PROBE_OK;
}

/* Called in the streaming thread for each frame: draws the box while it is dragged. */
static void on_draw(GstElement* overlay, cairo_t* cairo, guint64 timestamp, guint64 duration,
                    gpointer user_data) {
  App* app = user_data;
  (void)overlay;
  (void)timestamp;
  (void)duration;
  g_mutex_lock(&app->mutex);
  if (app->dragging) {
    cairo_set_source_rgb(cairo, 1, 1, 1);
    cairo_rectangle(cairo, app->from_x, app->from_y, app->to_x - app->from_x,
                    app->to_y - app->from_y);
    cairo_stroke(cairo);
  }
  g_mutex_unlock(&app->mutex);
}

/* ---- the pipeline --------------------------------------------------------------------------- */

/* Called in the streaming thread for each buffer that leaves cudaxcorr. */
static GstPadProbeReturn print_target(GstPad* pad, GstPadProbeInfo* info, gpointer user_data) {
  GstBuffer* buffer = GST_PAD_PROBE_INFO_BUFFER(info);
  double seconds = (double)GST_BUFFER_PTS(buffer) / GST_SECOND;
  GstCudaXCorrPeak peak;
  (void)pad;
  (void)user_data;
  if (!gst_cuda_xcorr_get_peak(gst_cuda_xcorr_get_result(buffer), 0, &peak))
    g_print("%.3f -\n", seconds);
  else
    g_print("%.3f id=%" G_GUINT64_FORMAT " x=%.2f y=%.2f score=%.4f %s%s\n", seconds, peak.id,
            peak.x, peak.y, peak.score, peak.state, peak.lost ? " unseen" : "");
  return GST_PAD_PROBE_OK;
}

static GstElement* make_pipeline(const Options* options, App* app, GError** error) {
  char* source =
      options->source != NULL ? g_strdup(options->source) : play_source(options->operands[0]);
  char* text = g_strdup_printf(
      "%s ! videoconvert ! cudaxcorr name=match backend=%s threshold=%f track=true "
      "enable-capture=true post-messages=false ! xcorroverlay ! "
      "videoconvert ! cairooverlay name=drag ! videoconvert ! %s",
      source, options->backend, options->threshold, options->sink);
  GstElement* pipeline = gst_parse_launch_full(text, NULL, GST_PARSE_FLAG_FATAL_ERRORS, error);
  g_free(source);
  g_free(text);
  if (pipeline == NULL) return NULL;

  app->match = gst_bin_get_by_name(GST_BIN(pipeline), "match");
  GstElement* drag = gst_bin_get_by_name(GST_BIN(pipeline), "drag");
  GstPad* pad = gst_element_get_static_pad(app->match, "src");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_EVENT_UPSTREAM, on_event, app, NULL);
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, print_target, NULL, NULL);
  g_signal_connect(drag, "draw", G_CALLBACK(on_draw), app);
  gst_object_unref(pad);
  gst_object_unref(drag);
  return pipeline;
}

static gboolean parse_options(int argc, char** argv, Options* options, GError** error) {
  GOptionEntry entries[] = {
      {"source", 's', 0, G_OPTION_ARG_STRING, &options->source,
       "A gst-launch description of the source, instead of VIDEO", "TEXT"},
      {"sink", 0, 0, G_OPTION_ARG_STRING, &options->sink, "The window (autovideosink)", "TEXT"},
      {"backend", 'b', 0, G_OPTION_ARG_STRING, &options->backend, "auto, cpu or cuda", "NAME"},
      {"threshold", 't', 0, G_OPTION_ARG_DOUBLE, &options->threshold,
       "Of cudaxcorr, how close a match must be (0.5)", "NUMBER"},
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->operands, NULL, "[VIDEO]"},
      {NULL, 0, 0, 0, NULL, NULL, NULL}};
  gboolean parsed = play_parse_options(entries, "VIDEO is a file or a URI.", argc, argv, error);
  if (parsed && options->source == NULL && options->operands == NULL) {
    g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED, "needs a video; see --help");
    return FALSE;
  }
  return parsed;
}

int main(int argc, char** argv) {
  Options options = {
      .sink = g_strdup("autovideosink"), .backend = g_strdup("auto"), .threshold = 0.5};
  App app = {0};
  GError* error = NULL;
  GstElement* pipeline = NULL;
  gboolean right = FALSE;
  g_mutex_init(&app.mutex);
  if (parse_options(argc, argv, &options, &error) &&
      (pipeline = make_pipeline(&options, &app, &error))) {
    right = play(pipeline);
    gst_object_unref(app.match);
    gst_object_unref(pipeline);
  }
  if (error != NULL) g_printerr("click-to-track: %s\n", error->message);
  g_clear_error(&error);
  g_mutex_clear(&app.mutex);
  g_free(options.source);
  g_free(options.sink);
  g_free(options.backend);
  g_strfreev(options.operands);
  return right ? 0 : 1;
}
