/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * All textures are value noise: random values on grids of several widths, interpolated smoothly
 * and added up, coarse grids strongest. Everything is a function of the frame's index
 * and of fixed seeds, so every run makes the same clip.
 */
#include "scene.h"

#include <math.h>

#define WORLD_WIDTH 1024
#define WORLD_HEIGHT 640
#define CHANNELS 3

typedef struct {
  int width, height;
  float* values; /* CHANNELS a pixel, 0..255 */
} Texture;

struct _Scene {
  Texture world, target, post;
};

/* A fixed pseudo-random value in 0..1 for a point of a grid. */
static float lattice(guint32 seed, int x, int y) {
  guint32 h = seed ^ ((guint32)x * 0x9e3779b1u) ^ ((guint32)y * 0x85ebca6bu);
  h = (h ^ (h >> 15)) * 0x2c1b3c6du;
  h = (h ^ (h >> 12)) * 0x297a2d39u;
  return (float)((h ^ (h >> 15)) >> 8) / (float)(1 << 24);
}

static float smooth(float t) { return t * t * (3 - 2 * t); }

static float mix(float a, float b, float t) { return a + (b - a) * t; }

static float noise(guint32 seed, float x, float y) {
  int x0 = (int)floorf(x), y0 = (int)floorf(y);
  float tx = smooth(x - (float)x0), ty = smooth(y - (float)y0);
  float top = mix(lattice(seed, x0, y0), lattice(seed, x0 + 1, y0), tx);
  float bottom = mix(lattice(seed, x0, y0 + 1), lattice(seed, x0 + 1, y0 + 1), tx);
  return mix(top, bottom, ty);
}

/* `coarsest`: the widest grid in pixels; each further one is half as wide and 0.7 as strong. */
static Texture texture_new(int width, int height, guint32 seed, float coarsest) {
  Texture texture = {width, height, g_new(float, (gsize)width* height* CHANNELS)};
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      for (int c = 0; c < CHANNELS; c++) {
        float sum = 0, strength = 1, total = 0;
        for (float grid = coarsest; grid >= 3; grid /= 2, strength *= 0.7f) {
          sum += strength *
                 noise(seed + (guint32)c + (guint32)grid * 8, (float)x / grid, (float)y / grid);
          total += strength;
        }
        /* Sums of noise are concentrated around the mean: stretch them. */
        float value = 128 + (sum / total - 0.5f) * 480;
        texture.values[((gsize)y * width + x) * CHANNELS + c] = CLAMP(value, 0, 255);
      }
  return texture;
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
  scene->world = texture_new(WORLD_WIDTH, WORLD_HEIGHT, 1, 96);
  scene->target = texture_new(TARGET_WIDTH, TARGET_HEIGHT, 1000, 24);
  scene->post = texture_new(POST_WIDTH, SCENE_HEIGHT, 2000, 48);
  return scene;
}

void scene_free(Scene* scene) {
  g_free(scene->world.values);
  g_free(scene->target.values);
  g_free(scene->post.values);
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
  return CLAMP((x + TARGET_WIDTH - POST_WIDTH) / TARGET_WIDTH, 0, 1);
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
      if (x < POST_WIDTH) {
        sample(&scene->post, x, y, front);
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
