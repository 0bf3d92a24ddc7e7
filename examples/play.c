/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "play.h"

gboolean play_parse_options(const GOptionEntry* entries, const char* summary, int argc, char** argv,
                            GError** error) {
  GOptionContext* context = g_option_context_new(NULL);
  g_option_context_set_summary(context, summary);
  g_option_context_add_main_entries(context, entries, NULL);
  g_option_context_add_group(context, gst_init_get_option_group());
  gboolean parsed = g_option_context_parse(context, &argc, &argv, error);
  g_option_context_free(context);
  return parsed;
}

char* play_source(const char* video) {
  char* uri = gst_uri_is_valid(video) ? g_strdup(video) : gst_filename_to_uri(video, NULL);
  char* source = g_strdup_printf("uridecodebin uri=\"%s\"", uri);
  g_free(uri);
  return source;
}

static gboolean end(GstElement* pipeline, GstMessage* message, gpointer user_data) {
  (void)pipeline;
  (void)message;
  (void)user_data;
  return FALSE;
}

gboolean play(GstElement* pipeline) { return play_until(pipeline, end, NULL); }

gboolean play_until(GstElement* pipeline, PlayHandler handler, gpointer user_data) {
  GstBus* bus = gst_element_get_bus(pipeline);
  gboolean running = TRUE, right = TRUE;
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  while (running) {
    GstMessage* message = gst_bus_timed_pop_filtered(
        bus, GST_CLOCK_TIME_NONE,
        GST_MESSAGE_APPLICATION | GST_MESSAGE_EOS | GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
    GError* error = NULL;
    char* details = NULL; /* which file it is about, for one */
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_WARNING) {
      gst_message_parse_warning(message, &error, &details);
    } else if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
      gst_message_parse_error(message, &error, &details);
      running = right = FALSE;
    } else {
      running = handler(pipeline, message, user_data);
    }
    if (error != NULL) g_printerr("%s: %s\n", g_get_prgname(), error->message);
    if (details != NULL) g_printerr("%s\n", details);
    g_clear_error(&error);
    g_free(details);
    gst_message_unref(message);
  }
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(bus);
  return right;
}
