/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Shows a video in a window; drag a box in it, or click, and what is there is followed. The video
 * sink sends mouse events upstream as GstNavigation events. At cudaxcorr the box becomes the
 * template, by `capture-template`. A new box replaces it, another mouse button removes it. Keys, of
 * which the image has a list: space pauses and goes on, a full stop shows the next frame, + and -
 * change the threshold, s saves the patch, h hides the list, q ends.
 *
 *   click-to-track --loop clip.mp4
 *   click-to-track --source "v4l2src ! decodebin"
 */
#include <cairo.h>
#include <gst/gst.h>
#include <gst/video/navigation.h>
#include <gst/video/video.h>
#include <string.h>

#include "gstcudaxcorrmeta.h"
#include "play.h"

#define CLICK_PX 6      /* a drag shorter than that, across and down, is a click */
#define CLICK_BOX_PX 48 /* and means a box of this size round it */

#define THRESHOLD_STEP 0.05
#define PREROLL_TIMEOUT (2 * GST_SECOND) /* of a frame that is to be shown while paused */

typedef struct {
  char *source, *sink, *backend, *save;
  double threshold;
  gboolean loop;
  char** operands;
} Options;

typedef struct {
  const Options* options;
  GstElement *pipeline, *match;
  guint template_id; /* 0: none */
  GMutex mutex;      /* of what follows: the mouse has a thread of its own */
  gboolean dragging;
  double from_x, from_y, to_x, to_y; /* pixels of the frame */
  gboolean no_hint;
  GstSample *frame, *captured; /* the last frame; the one that the template is from */
  GstVideoRectangle box;       /* and where in it */
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
  if (app->template_id == 0) return;
  g_print("template %u: %dx%d at %d,%d\n", app->template_id, box->w, box->h, box->x, box->y);
  g_mutex_lock(&app->mutex);
  if (app->captured != NULL) gst_sample_unref(app->captured);
  app->captured = app->frame != NULL ? gst_sample_ref(app->frame) : NULL;
  app->box = *box;
  g_mutex_unlock(&app->mutex);
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

/* ---- keys ----------------------------------------------------------------------------------- */

static GstSample* converted(GstSample* sample, const char* to, GError** error) {
  GstCaps* caps = gst_caps_from_string(to);
  GstSample* result = gst_video_convert_sample(sample, caps, GST_CLOCK_TIME_NONE, error);
  gst_caps_unref(caps);
  return result;
}

/* A part of an image of RGB. NULL if its pixels cannot be read. */
static GstSample* cropped(GstSample* image, const GstVideoRectangle* box) {
  GstVideoInfo info;
  GstVideoFrame from, to;
  gst_video_info_from_caps(&info, gst_sample_get_caps(image));
  if (!gst_video_frame_map(&from, &info, gst_sample_get_buffer(image), GST_MAP_READ)) return NULL;
  gst_video_info_set_format(&info, GST_VIDEO_FORMAT_RGB, (guint)box->w, (guint)box->h);
  GstBuffer* buffer = gst_buffer_new_allocate(NULL, GST_VIDEO_INFO_SIZE(&info), NULL);
  gst_video_frame_map(&to, &info, buffer, GST_MAP_WRITE);
  for (int y = 0; y < box->h; y++)
    memcpy((guint8*)GST_VIDEO_FRAME_PLANE_DATA(&to, 0) + y * GST_VIDEO_FRAME_PLANE_STRIDE(&to, 0),
           (guint8*)GST_VIDEO_FRAME_PLANE_DATA(&from, 0) +
               (box->y + y) * GST_VIDEO_FRAME_PLANE_STRIDE(&from, 0) + 3 * box->x,
           3 * (gsize)box->w);
  gst_video_frame_unmap(&to);
  gst_video_frame_unmap(&from);
  GstCaps* caps = gst_video_info_to_caps(&info);
  GstSample* sample = gst_sample_new(buffer, caps, NULL, NULL);
  gst_caps_unref(caps);
  gst_buffer_unref(buffer);
  return sample;
}

static void save_patch(App* app) {
  GError* error = NULL;
  GstMapInfo map;
  g_mutex_lock(&app->mutex);
  GstSample* captured = app->captured != NULL ? gst_sample_ref(app->captured) : NULL;
  const GstVideoRectangle box = app->box;
  g_mutex_unlock(&app->mutex);
  if (captured == NULL) {
    g_printerr("click-to-track: there is no patch to save yet\n");
    return;
  }
  GstSample* image = converted(captured, "video/x-raw,format=RGB", &error);
  GstSample* patch = image != NULL ? cropped(image, &box) : NULL;
  GstSample* png = patch != NULL ? converted(patch, "image/png", &error) : NULL;
  if (png != NULL && gst_buffer_map(gst_sample_get_buffer(png), &map, GST_MAP_READ)) {
    if (g_file_set_contents(app->options->save, (const char*)map.data, (gssize)map.size, &error))
      g_print("saved %s\n", app->options->save);
    gst_buffer_unmap(gst_sample_get_buffer(png), &map);
  }
  if (error != NULL) g_printerr("click-to-track: %s\n", error->message);
  g_clear_error(&error);
  gst_sample_unref(captured);
  if (image != NULL) gst_sample_unref(image);
  if (patch != NULL) gst_sample_unref(patch);
  if (png != NULL) gst_sample_unref(png);
}

static double threshold_of(const App* app) {
  double threshold;
  g_object_get(app->match, "threshold", &threshold, NULL);
  return threshold;
}

static void change_threshold(App* app, double by) {
  g_object_set(app->match, "threshold", CLAMP(threshold_of(app) + by, 0, 1), NULL);
  g_print("threshold %.2f\n", threshold_of(app));
}

static void pause_or_go_on(App* app) {
  gboolean playing = GST_STATE_TARGET(app->pipeline) == GST_STATE_PLAYING;
  gst_element_set_state(app->pipeline, playing ? GST_STATE_PAUSED : GST_STATE_PLAYING);
}

/* A frame has to be there before the next one can be asked for. */
static void step(App* app) {
  gst_element_set_state(app->pipeline, GST_STATE_PAUSED);
  gst_element_get_state(app->pipeline, NULL, NULL, PREROLL_TIMEOUT);
  gst_element_send_event(app->pipeline,
                         gst_event_new_step(GST_FORMAT_BUFFERS, 1, 1.0, TRUE, FALSE));
}

static void hide_or_show_hint(App* app) {
  g_mutex_lock(&app->mutex);
  app->no_hint = !app->no_hint;
  g_mutex_unlock(&app->mutex);
}

/* FALSE: it is over. */
static gboolean obey(App* app, const char* key) {
  if (g_str_equal(key, "q")) return FALSE;
  if (g_str_equal(key, "space")) pause_or_go_on(app);
  if (g_str_equal(key, "period")) step(app);
  /* Sinks name the key, without what Shift makes of it. */
  if (g_str_equal(key, "plus") || g_str_equal(key, "equal")) change_threshold(app, THRESHOLD_STEP);
  if (g_str_equal(key, "minus")) change_threshold(app, -THRESHOLD_STEP);
  if (g_str_equal(key, "s")) save_patch(app);
  if (g_str_equal(key, "h")) hide_or_show_hint(app);
  return TRUE;
}

/* The main thread's part: keys, and the end of the video, which may begin again. */
static gboolean on_message(GstElement* pipeline, GstMessage* message, gpointer user_data) {
  App* app = user_data;
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_APPLICATION)
    return obey(app, gst_structure_get_string(gst_message_get_structure(message), "key"));
  return app->options->loop &&
         gst_element_seek_simple(pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, 0);
}

/* States are not to be changed in the window's thread, so the main one is told. */
static void tell_key(App* app, GstEvent* event) {
  const char* key;
  gst_navigation_event_parse_key_event(event, &key);
  gst_element_post_message(
      app->pipeline,
      gst_message_new_application(GST_OBJECT(app->pipeline),
                                  gst_structure_new("key", "key", G_TYPE_STRING, key, NULL)));
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
    case GST_NAVIGATION_EVENT_KEY_PRESS:
      tell_key(app, event);
      break;
    default:
      break;
  }
  g_mutex_unlock(&app->mutex);
  if (dragged) follow(app, &box);
  return GST_PAD_PROBE_OK;
}

/* What can be done, in the lower left corner, as large as the frame suggests. */
static void draw_hint(cairo_t* cairo, const App* app) {
  char keys[64];
  g_snprintf(keys, sizeof keys, "space: pause    .: next frame    + -: threshold %.2f",
             threshold_of(app));
  const char* const lines[] = {"drag a box: follow it    right button: forget it", keys,
                               "s: save the patch    h: hide this    q: quit"};
  double left, top, right, bottom;
  cairo_clip_extents(cairo, &left, &top, &right, &bottom);
  const double size = MAX((bottom - top) / 30, 9);
  cairo_set_font_size(cairo, size);
  for (guint i = 0; i < G_N_ELEMENTS(lines); i++) {
    cairo_move_to(cairo, size, bottom - 1.3 * size * (G_N_ELEMENTS(lines) - i) + size / 2);
    cairo_text_path(cairo, lines[i]);
    cairo_set_source_rgb(cairo, 0, 0, 0);
    cairo_set_line_width(cairo, size / 5);
    cairo_stroke_preserve(cairo);
    cairo_set_source_rgb(cairo, 1, 1, 1);
    cairo_fill(cairo);
  }
}

/* Called in the streaming thread for each frame: draws the box while it is dragged. */
static void on_draw(GstElement* overlay, cairo_t* cairo, guint64 timestamp, guint64 duration,
                    gpointer user_data) {
  App* app = user_data;
  (void)overlay;
  (void)timestamp;
  (void)duration;
  g_mutex_lock(&app->mutex);
  if (!app->no_hint) draw_hint(cairo, app);
  if (app->dragging) {
    cairo_set_line_width(cairo, 2);
    cairo_set_source_rgb(cairo, 1, 1, 1);
    cairo_rectangle(cairo, app->from_x, app->from_y, app->to_x - app->from_x,
                    app->to_y - app->from_y);
    cairo_stroke(cairo);
  }
  g_mutex_unlock(&app->mutex);
}

/* ---- the pipeline --------------------------------------------------------------------------- */

static void keep_frame(App* app, GstPad* pad, GstBuffer* buffer) {
  GstCaps* caps = gst_pad_get_current_caps(pad);
  g_mutex_lock(&app->mutex);
  if (app->frame != NULL) gst_sample_unref(app->frame);
  app->frame = gst_sample_new(buffer, caps, NULL, NULL);
  g_mutex_unlock(&app->mutex);
  gst_clear_caps(&caps);
}

/* Called in the streaming thread for each buffer that leaves cudaxcorr. */
static GstPadProbeReturn print_target(GstPad* pad, GstPadProbeInfo* info, gpointer user_data) {
  GstBuffer* buffer = GST_PAD_PROBE_INFO_BUFFER(info);
  double seconds = (double)GST_BUFFER_PTS(buffer) / GST_SECOND;
  GstCudaXCorrPeak peak;
  keep_frame(user_data, pad, buffer);
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

  app->options = options;
  app->pipeline = pipeline;
  app->match = gst_bin_get_by_name(GST_BIN(pipeline), "match");
  GstElement* drag = gst_bin_get_by_name(GST_BIN(pipeline), "drag");
  GstPad* pad = gst_element_get_static_pad(app->match, "src");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_EVENT_UPSTREAM, on_event, app, NULL);
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, print_target, app, NULL);
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
      {"loop", 'l', 0, G_OPTION_ARG_NONE, &options->loop, "Begin again at the video's end", NULL},
      {"save", 0, 0, G_OPTION_ARG_FILENAME, &options->save,
       "Where the key s saves the patch (patch.png)", "FILE"},
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
  Options options = {.sink = g_strdup("autovideosink"),
                     .backend = g_strdup("auto"),
                     .save = g_strdup("patch.png"),
                     .threshold = 0.5};
  App app = {0};
  GError* error = NULL;
  GstElement* pipeline = NULL;
  gboolean right = FALSE;
  g_mutex_init(&app.mutex);
  if (parse_options(argc, argv, &options, &error) &&
      (pipeline = make_pipeline(&options, &app, &error))) {
    right = play_until(pipeline, on_message, &app);
    gst_object_unref(app.match);
    gst_object_unref(pipeline);
  }
  if (error != NULL) g_printerr("click-to-track: %s\n", error->message);
  g_clear_error(&error);
  if (app.frame != NULL) gst_sample_unref(app.frame);
  if (app.captured != NULL) gst_sample_unref(app.captured);
  g_mutex_clear(&app.mutex);
  g_free(options.source);
  g_free(options.sink);
  g_free(options.backend);
  g_free(options.save);
  g_strfreev(options.operands);
  return right ? 0 : 1;
}
