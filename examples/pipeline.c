/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pipeline.h"

#include <gst/app/gstappsrc.h>

GstElement* pipeline_parse(const char* description) {
  GError* error = NULL;
  GstElement* pipeline =
      gst_parse_launch_full(description, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  if (pipeline == NULL) {
    g_printerr("demo: %s\n", error->message);
    g_error_free(error);
  }
  return pipeline;
}

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
    /* Missing files have another code. */
    gboolean no_device = g_str_equal(element, MATCH_NAME) &&
                         g_error_matches(error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND);
    result = no_device ? EXIT_NO_DEVICE : EXIT_WRONG;
    g_error_free(error);
  }
  gst_message_unref(message);
  gst_object_unref(bus);
  return result;
}

int pipeline_run(GstElement* pipeline) {
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  int result = wait_for_end(pipeline);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
  return result;
}

void pipeline_set_location(GstElement* pipeline, const char* name, const char* file) {
  GstElement* element = gst_bin_get_by_name(GST_BIN(pipeline), name);
  g_object_set(element, "location", file, NULL);
  gst_object_unref(element);
}

void pipeline_add_probe(GstElement* pipeline, const char* name, const char* pad,
                        GstPadProbeCallback probe, gpointer user_data) {
  GstElement* element = gst_bin_get_by_name(GST_BIN(pipeline), name);
  GstPad* probed = gst_element_get_static_pad(element, pad);
  gst_pad_add_probe(probed, GST_PAD_PROBE_TYPE_BUFFER, probe, user_data, NULL);
  gst_object_unref(probed);
  gst_object_unref(element);
}

/* The images for an appsrc, one each time that it needs data. */
typedef struct {
  const Images* images;
  int fps, next;
} Supply;

static void on_need_data(GstAppSrc* source, guint length, gpointer user_data) {
  Supply* supply = user_data;
  const Images* images = supply->images;
  (void)length;
  if (supply->next == images->count) {
    gst_app_src_end_of_stream(source);
    return;
  }
  gsize bytes = (gsize)4 * images->width * images->height;
  guint8* pixels = g_malloc(bytes);
  images->draw(images->data, supply->next, pixels);
  GstBuffer* buffer = gst_buffer_new_wrapped(pixels, bytes);
  GST_BUFFER_PTS(buffer) = gst_util_uint64_scale(supply->next, GST_SECOND, supply->fps);
  GST_BUFFER_DURATION(buffer) = GST_SECOND / supply->fps;
  supply->next++;
  gst_app_src_push_buffer(source, buffer);
}

int pipeline_encode(const Images* images, int fps, const char* encoder, const char* file) {
  char* description = g_strdup_printf(
      "appsrc name=source format=time caps=video/x-raw,format=RGBx,width=%d,height=%d,"
      "framerate=%d/1 ! videoconvert ! %s ! filesink name=sink",
      images->width, images->height, fps, encoder);
  GstElement* pipeline = pipeline_parse(description);
  g_free(description);
  if (pipeline == NULL) return EXIT_WRONG;

  Supply supply = {images, fps, 0};
  GstElement* source = gst_bin_get_by_name(GST_BIN(pipeline), "source");
  GstAppSrcCallbacks callbacks = {.need_data = on_need_data};
  gst_app_src_set_callbacks(GST_APP_SRC(source), &callbacks, &supply, NULL);
  gst_object_unref(source);
  pipeline_set_location(pipeline, "sink", file);
  return pipeline_run(pipeline);
}

typedef struct {
  gsize bytes;
  guint8* pixels;
} Photograph;

static GstPadProbeReturn on_image(GstPad* pad, GstPadProbeInfo* info, gpointer user_data) {
  Photograph* photograph = user_data;
  (void)pad;
  g_free(photograph->pixels);
  photograph->pixels = g_malloc0(photograph->bytes);
  gst_buffer_extract(GST_PAD_PROBE_INFO_BUFFER(info), 0, photograph->pixels, photograph->bytes);
  return GST_PAD_PROBE_OK;
}

guint8* pipeline_decode(const char* photograph, int width, int height) {
  char* description = g_strdup_printf(
      "giosrc location=resource:///demo/%s ! jpegdec ! videoconvert ! "
      "video/x-raw,format=RGBx,width=%d,height=%d ! fakesink name=sink",
      photograph, width, height);
  GstElement* pipeline = pipeline_parse(description);
  g_free(description);
  if (pipeline == NULL) return NULL;
  Photograph decoded = {(gsize)4 * width * height, NULL};
  pipeline_add_probe(pipeline, "sink", "sink", on_image, &decoded);
  if (pipeline_run(pipeline) != EXIT_RIGHT) g_clear_pointer(&decoded.pixels, g_free);
  return decoded.pixels;
}
