/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The demo's scene: a textured world seen by a camera that pans, shakes and changes its exposure,
 * and a target that moves over it on a path of its own. Where the target is, is known exactly.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define SCENE_WIDTH 640
#define SCENE_HEIGHT 360
#define SCENE_FPS 30
#define TARGET_WIDTH 56
#define TARGET_HEIGHT 44

typedef struct _Scene Scene;

Scene* scene_new(void);
void scene_free(Scene* scene);

/* The target's top-left corner in frame `index`, pixels, with a fraction. */
void scene_target_position(int index, double* x, double* y);

/* Draws frame `index`: SCENE_WIDTH x SCENE_HEIGHT pixels of 4 bytes, R G B and an unused one. */
void scene_draw_frame(const Scene* scene, int index, guint8* rgbx);

/* Draws the target alone: TARGET_WIDTH x TARGET_HEIGHT pixels of 4 bytes. */
void scene_draw_target(const Scene* scene, guint8* rgbx);

G_END_DECLS
