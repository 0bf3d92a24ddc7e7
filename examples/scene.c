/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Everything is a function of the frame's index, so every run makes the same clip.
 */
#include "scene.h"

#include <math.h>

#include "pipeline.h"

#define WORLD_WIDTH 1024
#define WORLD_HEIGHT 640
#define FACE_X 84 /* in the photograph */
#define FACE_Y 22
#define POSTER_X 41 /* on the wall */
#define POSTER_Y 40
#define CHANNELS 3

typedef struct {
  int width, height;
  float* values; /* CHANNELS a pixel, 0..255 */
} Texture;

struct _Scene {
  Texture world, target, wall;
};

/* A place beyond the end of a row of `length`, as if a mirror stood there. */
static int reflected(int place, int length) {
  place %= 2 * length;
  return place < length ? place : 2 * length - 1 - place;
}

/* The part of a photograph of that size that begins at left, top. Its mirror images go on where it
 * ends. */
static Texture texture_new(const char* photograph, int photograph_width, int photograph_height,
                           int left, int top, int width, int height) {
  Texture texture = {width, height, NULL};
  guint8* pixels = pipeline_decode(photograph, photograph_width, photograph_height);
  if (pixels == NULL) return texture;
  texture.values = g_new(float, (gsize)width* height* CHANNELS);
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      for (int c = 0; c < CHANNELS; c++) {
        gsize from = (gsize)reflected(top + y, photograph_height) * photograph_width +
                     (gsize)reflected(left + x, photograph_width);
        texture.values[((gsize)y * width + x) * CHANNELS + c] = pixels[4 * from + c];
      }
  g_free(pixels);
  return texture;
}

/* Something that looks like the target where it hides must not be taken for it. */
static void hang_poster(const Texture* wall, const Texture* target) {
  for (int y = 0; y < TARGET_HEIGHT; y++)
    for (int x = 0; x < TARGET_WIDTH; x++)
      for (int c = 0; c < CHANNELS; c++)
        wall->values[((gsize)(POSTER_Y + y) * WALL_WIDTH + POSTER_X + x) * CHANNELS + c] =
            target->values[((gsize)y * TARGET_WIDTH + TARGET_WIDTH - 1 - x) * CHANNELS + c];
}

/* Bilinear; outside it is black. Returns how much of the pixel the texture covers, 0 to 1. */
static float sample(const Texture* texture, double x, double y, float rgb[CHANNELS]) {
  int x0 = (int)floor(x), y0 = (int)floor(y);
  float tx = (float)(x - x0), ty = (float)(y - y0), covered = 0;
  rgb[0] = rgb[1] = rgb[2] = 0;
  for (int corner = 0; corner < 4; corner++) {
    int cx = x0 + (corner & 1), cy = y0 + (corner >> 1);
    float weight = ((corner & 1) ? tx : 1 - tx) * ((corner >> 1) ? ty : 1 - ty);
    if (cx < 0 || cy < 0 || cx >= texture->width || cy >= texture->height) continue;
    const float* value = &texture->values[((gsize)cy * texture->width + cx) * CHANNELS];
    for (int c = 0; c < CHANNELS; c++) rgb[c] += weight * value[c];
    covered += weight;
  }
  return covered;
}

Scene* scene_new(void) {
  Scene* scene = g_new(Scene, 1);
  scene->world = texture_new("gravel.jpg", 512, 512, 0, 0, WORLD_WIDTH, WORLD_HEIGHT);
  scene->target =
      texture_new("astronaut.jpg", 256, 256, FACE_X, FACE_Y, TARGET_WIDTH, TARGET_HEIGHT);
  scene->wall = texture_new("brick.jpg", WALL_WIDTH, SCENE_HEIGHT, 0, 0, WALL_WIDTH, SCENE_HEIGHT);
  if (!scene->world.values || !scene->target.values || !scene->wall.values) {
    scene_free(scene);
    return NULL;
  }
  hang_poster(&scene->wall, &scene->target);
  return scene;
}

void scene_free(Scene* scene) {
  g_free(scene->world.values);
  g_free(scene->target.values);
  g_free(scene->wall.values);
  g_free(scene);
}

void scene_target_position(int index, double* x, double* y) {
  double t = index / (double)SCENE_FPS;
  *x = (SCENE_WIDTH - TARGET_WIDTH) * (0.5 + 0.45 * sin(1.3 * t + 0.4));
  *y = (SCENE_HEIGHT - TARGET_HEIGHT) * (0.5 + 0.45 * sin(2.1 * t));
}

double scene_target_visible(int index) {
  double x, y;
  scene_target_position(index, &x, &y);
  return CLAMP((x + TARGET_WIDTH - WALL_WIDTH) / TARGET_WIDTH, 0, 1);
}

/* The point of the world at the frame's top-left corner: a slow pan with the shake of a hand. */
static void camera_position(int index, double* x, double* y) {
  double t = index / (double)SCENE_FPS;
  *x = (WORLD_WIDTH - SCENE_WIDTH) * (0.5 + 0.45 * sin(0.8 * t)) + 2.5 * sin(17 * t);
  *y = (WORLD_HEIGHT - SCENE_HEIGHT) * (0.5 + 0.45 * cos(0.6 * t)) + 2.5 * sin(23 * t + 1);
}

static void put_pixel(guint8* pixel, const float rgb[CHANNELS], float gain) {
  for (int c = 0; c < CHANNELS; c++) pixel[c] = (guint8)CLAMP(rgb[c] * gain + 0.5f, 0, 255);
  pixel[3] = 0;
}

void scene_draw_frame(gconstpointer data, int index, guint8* rgbx) {
  const Scene* scene = data;
  double camera_x, camera_y, target_x, target_y;
  float exposure = 0.85f + 0.12f * (float)sin(1.7 * index / SCENE_FPS);
  camera_position(index, &camera_x, &camera_y);
  scene_target_position(index, &target_x, &target_y);
  for (int y = 0; y < SCENE_HEIGHT; y++)
    for (int x = 0; x < SCENE_WIDTH; x++) {
      float back[CHANNELS], front[CHANNELS];
      if (x < WALL_WIDTH) {
        sample(&scene->wall, x, y, front);
      } else {
        float covered = sample(&scene->target, x - target_x, y - target_y, front);
        sample(&scene->world, camera_x + x, camera_y + y, back);
        for (int c = 0; c < CHANNELS; c++) front[c] += (1 - covered) * back[c];
      }
      put_pixel(rgbx + 4 * ((gsize)y * SCENE_WIDTH + x), front, exposure);
    }
}

void scene_draw_target(gconstpointer data, int index, guint8* rgbx) {
  const Scene* scene = data;
  (void)index;
  for (int i = 0; i < TARGET_WIDTH * TARGET_HEIGHT; i++)
    put_pixel(rgbx + 4 * i, &scene->target.values[(gsize)i * CHANNELS], 1);
}
