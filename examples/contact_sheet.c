/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What is written is white on black, so that the order of the colours' bytes, which is not Cairo's,
 * does not matter.
 */
#include "contact_sheet.h"

#include <cairo.h>
#include <gst/gst.h>
#include <string.h>

#include "pipeline.h"

#define COLUMNS 4
#define ROWS 4
#define TILE_WIDTH 320
#define TILE_HEIGHT 180
#define LEGEND_HEIGHT 32
#define SHEET_WIDTH (TILE_WIDTH * COLUMNS)
#define SHEET_HEIGHT (TILE_HEIGHT * ROWS + LEGEND_HEIGHT)
#define PIXEL_BYTES 4
#define SHEET_BYTES (PIXEL_BYTES * SHEET_WIDTH * SHEET_HEIGHT)

typedef struct {
  guint8* pixels;
  int frames, next; /* of the clip; of them, the one that comes */
} Sheet;

static int frame_of(const Sheet* sheet, int tile) {
  return tile * sheet->frames / (COLUMNS * ROWS);
}

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
    if (frame_of(sheet, tile) == sheet->next) put_tile(sheet, tile, map.data);
  sheet->next++;
  gst_buffer_unmap(GST_PAD_PROBE_INFO_BUFFER(info), &map);
  return GST_PAD_PROBE_OK;
}

/* From the lower left corner of the text on. */
static void write_text(cairo_t* cairo, double x, double y, const char* text) {
  cairo_text_extents_t size;
  cairo_text_extents(cairo, text, &size);
  cairo_set_source_rgb(cairo, 0, 0, 0);
  cairo_rectangle(cairo, x - 4, y - 15, size.x_advance + 8, 20);
  cairo_fill(cairo);
  cairo_set_source_rgb(cairo, 1, 1, 1);
  cairo_move_to(cairo, x, y);
  cairo_show_text(cairo, text);
}

/* A piece of a box's line; `dash`: the length of what is drawn and of what is not, 0: a line
 * without gaps. Returns where the text beside it begins. */
static double draw_line(cairo_t* cairo, double x, double y, double dash) {
  cairo_set_dash(cairo, &dash, dash > 0, 0);
  cairo_set_line_width(cairo, 3);
  cairo_move_to(cairo, x, y - 5);
  cairo_line_to(cairo, x + 40, y - 5);
  cairo_stroke(cairo);
  return x + 48;
}

/* The number of each frame, and below them what the boxes mean. */
static void label(Sheet* sheet) {
  cairo_surface_t* surface = cairo_image_surface_create_for_data(
      sheet->pixels, CAIRO_FORMAT_RGB24, SHEET_WIDTH, SHEET_HEIGHT, PIXEL_BYTES * SHEET_WIDTH);
  cairo_t* cairo = cairo_create(surface);
  cairo_set_font_size(cairo, 15);
  for (int tile = 0; tile < COLUMNS * ROWS; tile++) {
    char* number = g_strdup_printf("%d", frame_of(sheet, tile));
    write_text(cairo, tile % COLUMNS * TILE_WIDTH + 4, (tile / COLUMNS + 1) * TILE_HEIGHT - 5,
               number);
    g_free(number);
  }
  const double y = SHEET_HEIGHT - 10;
  write_text(cairo, 10, y, "patch #track score confidence");
  write_text(cairo, draw_line(cairo, 290, y, 3), y, "tentative: not yet confirmed");
  write_text(cairo, draw_line(cairo, 600, y, 0), y, "tracked");
  write_text(cairo, draw_line(cairo, 760, y, 9), y, "lost: where it was last");
  write_text(cairo, 1040, y, "lower left: the frame");
  cairo_destroy(cairo);
  cairo_surface_destroy(surface);
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
  Images image = {SHEET_WIDTH, SHEET_HEIGHT, 1, draw, &sheet};
  pipeline_set_location(pipeline, "source", clip);
  pipeline_add_probe(pipeline, "sink", "sink", on_frame, &sheet);
  int result = pipeline_run(pipeline);
  if (result == EXIT_RIGHT) {
    label(&sheet);
    result = pipeline_encode(&image, 1, "pngenc", file);
  }
  g_free(sheet.pixels);
  return result;
}
