/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A contact sheet of a clip: a grid of frames, evenly spaced in time.
 */
#pragma once

/* Writes the sheet (PNG) of a clip with that many frames. Returns an exit status of pipeline.h. */
int contact_sheet_write(const char* clip, int frames, const char* file);
