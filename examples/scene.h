/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The demo's scene, made of photographs: gravel seen by a camera that pans, shakes and changes its
 * exposure, and a face that moves over it on its own path. For a second, in frames 85 to 114, it is
 * hidden behind a brick wall at the image's left edge, on which hangs its mirror image. The
 * target's true position is known exactly.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define SCENE_WIDTH 640
#define SCENE_HEIGHT 360
#define SCENE_FPS 30
#define TARGET_WIDTH 56
#define TARGET_HEIGHT 44
#define WALL_WIDTH 139

typedef struct _Scene Scene;

/* NULL if the photographs cannot be decoded. */
Scene* scene_new(void);
void scene_free(Scene* scene);

/* The target's top-left corner in frame `index`, pixels, with a fraction. */
void scene_target_position(int index, double* x, double* y);

/* How much of the target is visible beside the wall in frame `index`, 0 to 1. */
double scene_target_visible(int index);

/* Draws frame `index`: SCENE_WIDTH x SCENE_HEIGHT pixels of 4 bytes, R G B and an unused one. */
void scene_draw_frame(gconstpointer scene, int index, guint8* rgbx);

/* Draws the target alone: TARGET_WIDTH x TARGET_HEIGHT pixels of 4 bytes, the same for each
 * `index`. */
void scene_draw_target(gconstpointer scene, int index, guint8* rgbx);

G_END_DECLS
