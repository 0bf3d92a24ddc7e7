/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A picture of a clip: frames from it, evenly spaced in time, side by side and row under row.
 */
#pragma once

/* Writes the sheet (PNG) of a clip with that many frames; an exit status of pipeline.h. */
int contact_sheet_write(const char* clip, int frames, const char* file);
