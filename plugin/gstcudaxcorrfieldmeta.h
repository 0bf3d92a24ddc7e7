/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads the displacement fields of the element `cudaxcorrfield`: plain C, inline, needs nothing but
 * GStreamer.
 *
 * The element attaches a custom meta "GstCudaXCorrFieldMeta" to each frame, which is a GstStructure
 * and can be read without this header too (from Python, say). Since it has no tags, videoconvert,
 * videoscale, tee and queues pass it on unchanged: everything stays in pixels of the measured
 * frame.
 *
 *   const GstStructure *field = gst_cuda_xcorr_get_field (buffer);
 *   gsize n;
 *   const gfloat *dx = gst_cuda_xcorr_field_get_array (field, "dx", &n);
 *   const gfloat *dy = gst_cuda_xcorr_field_get_array (field, "dy", &n);
 *   for (gsize i = 0; i < n; i++) g_print ("%.3f,%.3f\n", dx[i], dy[i]);
 *
 * Fields of the structure:
 *   state (string): "measured"; "cut", measured, but the frame does not resemble the reference;
 *     "reference", the frame has become the reference; "no-reference", there is none to compare
 *     with; "unmeasured", the frame or the settings do not permit it, as a warning says
 *   frame-width, frame-height (int), pts (guint64), reference-pts (guint64, GST_CLOCK_TIME_NONE for
 *     a file), processing-time (guint64, ns), backend (string)
 *   valid (double): the share of interrogation windows with status 0 among those not masked
 *   mean-x, mean-y, median-x, median-y (double): of the displacements of valid windows, pixels
 *   rms (double): root mean square of their lengths
 *   columns, rows (int): of the grid; 0 without a field. Windows at places are one row, as in their
 *     file
 *   window, spacing (int): pixels; a spacing of 0 with a field: windows at places
 *   x, y, dx, dy, dx-by-x, dx-by-y, dy-by-x, dy-by-y, score, ratio, sigma, status (GBytes): an
 *     array each of columns * rows 32-bit floats in the machine's byte order, row by row
 *
 * For each window x and y are its centre in the reference (centres of pixels are whole), dx and dy
 * its displacement in pixels, right and down, dx-by-y and the like the gradient of that per pixel.
 * score is -1 to 1; ratio is that of the best score to the second peak's; sigma is the noise of
 * each component, 0: unknown; status is 0 ok, 1 replaced, 2 masked, 3 out of range, 4 flat. Nothing
 * is ever NaN or infinite.
 */
#ifndef GST_CUDA_XCORR_FIELD_META_H
#define GST_CUDA_XCORR_FIELD_META_H

#include "gstcudaxcorrmeta.h"

G_BEGIN_DECLS

/**
 * GST_CUDA_XCORR_FIELD_META_NAME:
 *
 * Name of the custom meta.
 *
 * Since: 0.1
 */
#define GST_CUDA_XCORR_FIELD_META_NAME "GstCudaXCorrFieldMeta"

/**
 * gst_cuda_xcorr_get_field:
 * @buffer: a buffer
 *
 * Returns: (transfer none) (nullable): the field of the first `cudaxcorrfield` that the buffer
 *     passed, or %NULL when it has passed none. Lives as long as the buffer.
 *
 * Since: 0.1
 */
static inline const GstStructure* gst_cuda_xcorr_get_field(GstBuffer* buffer) {
  return gst_cuda_xcorr_get_structure(buffer, GST_CUDA_XCORR_FIELD_META_NAME);
}

/**
 * gst_cuda_xcorr_field_get_array:
 * @field: (nullable): a meta's structure
 * @name: of the array, such as "dx"
 * @length: (out): how many numbers it has, columns * rows
 *
 * Returns: (transfer none) (nullable): the numbers, row by row; %NULL, with a @length of 0, when
 *     there is no such array or it is empty. Lives as long as the field.
 *
 * Since: 0.1
 */
static inline const gfloat* gst_cuda_xcorr_field_get_array(const GstStructure* field,
                                                           const gchar* name, gsize* length) {
  const GValue* value = field ? gst_structure_get_value(field, name) : NULL;
  gconstpointer data = NULL;

  *length = 0;
  if (value && G_VALUE_HOLDS(value, G_TYPE_BYTES) && g_value_get_boxed(value))
    data = g_bytes_get_data((GBytes*)g_value_get_boxed(value), length);
  *length /= sizeof(gfloat);
  return *length > 0 ? (const gfloat*)data : NULL;
}

G_END_DECLS

#endif
