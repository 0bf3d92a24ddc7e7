/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "contact_sheet.h"

#include <gst/gst.h>
#include <string.h>

#include "pipeline.h"

#define COLUMNS 4
#define ROWS 4
#define TILE_WIDTH 320
#define TILE_HEIGHT 180
#define PIXEL_BYTES 4
#define SHEET_BYTES (PIXEL_BYTES * TILE_WIDTH * TILE_HEIGHT * COLUMNS * ROWS)

typedef struct {
  guint8* pixels;
  int frames, next; /* of the clip; of them, the one that comes */
} Sheet;

static void put_tile(Sheet* sheet, int tile, const guint8* pixels) {
  const gsize row = PIXEL_BYTES * TILE_WIDTH;
  guint8* to = sheet->pixels + (tile / COLUMNS * TILE_HEIGHT * COLUMNS + tile % COLUMNS) * row;
  for (int y = 0; y < TILE_HEIGHT; y++) memcpy(to + y * COLUMNS * row, pixels + y * row, row);
}

static GstPadProbeReturn on_frame(GstPad* pad, GstPadProbeInfo* info, gpointer user_data) {
  Sheet* sheet = user_data;
  GstMapInfo map;
  (void)pad;
  if (!gst_buffer_map(GST_PAD_PROBE_INFO_BUFFER(info), &map, GST_MAP_READ)) return GST_PAD_PROBE_OK;
  for (int tile = 0; tile < COLUMNS * ROWS; tile++)
    if (tile * sheet->frames / (COLUMNS * ROWS) == sheet->next) put_tile(sheet, tile, map.data);
  sheet->next++;
  gst_buffer_unmap(GST_PAD_PROBE_INFO_BUFFER(info), &map);
  return GST_PAD_PROBE_OK;
}

static void draw(gconstpointer data, int index, guint8* rgbx) {
  const Sheet* sheet = data;
  (void)index;
  memcpy(rgbx, sheet->pixels, SHEET_BYTES);
}

int contact_sheet_write(const char* clip, int frames, const char* file) {
  char* description = g_strdup_printf(
      "filesrc name=source ! decodebin ! videoconvert ! videoscale ! "
      "video/x-raw,format=RGBx,width=%d,height=%d ! fakesink name=sink sync=false",
      TILE_WIDTH, TILE_HEIGHT);
  GstElement* pipeline = pipeline_parse(description);
  g_free(description);
  if (pipeline == NULL) return EXIT_WRONG;

  Sheet sheet = {g_malloc0(SHEET_BYTES), frames, 0};
  Pictures picture = {COLUMNS * TILE_WIDTH, ROWS * TILE_HEIGHT, 1, draw, &sheet};
  pipeline_set_location(pipeline, "source", clip);
  pipeline_add_probe(pipeline, "sink", "sink", on_frame, &sheet);
  int result = pipeline_run(pipeline);
  if (result == EXIT_RIGHT) result = pipeline_encode(&picture, 1, "pngenc", file);
  g_free(sheet.pixels);
  return result;
}
