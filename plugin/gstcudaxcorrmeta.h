/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads the results of the element `cudaxcorr`: plain C, inline, needs nothing but GStreamer.
 *
 * The element attaches a custom meta "GstCudaXCorrMeta" to each frame, which is a GstStructure and
 * can be read without this header too (from Python, say). Since it has no tags, videoconvert,
 * videoscale, tee and queues pass it on unchanged: the peaks stay in pixels of the analysed frame,
 * see gst_cuda_xcorr_peak_rescale().
 *
 *   const GstStructure *result = gst_cuda_xcorr_get_result (buffer);
 *   guint n = gst_cuda_xcorr_get_n_peaks (result);
 *   for (guint i = 0; i < n; i++) {
 *     GstCudaXCorrPeak peak;
 *     if (gst_cuda_xcorr_get_peak (result, i, &peak))
 *       g_print ("%s at %.2f,%.2f\n", peak.label, peak.x, peak.y);
 *   }
 *
 * Fields of the structure, which are also those of the element message "cudaxcorr":
 *   frame-width, frame-height (int), pts (guint64), processing-time (guint64, ns),
 *   backend, kernel (string), analysed (boolean; FALSE for a frame that was skipped),
 *   camera (string; the property `camera-id`, where it is set),
 *   utc (string, RFC 3339, ns; when the frame was taken, if the source says so by a
 *   GstReferenceTimestampMeta in Unix or NTP time),
 *   peaks (GstValueArray of GstStructure "peak"; best first within a template, templates in order),
 *   events (GstValueArray of GstStructure "event"; with the property `events`: labels that have
 *   appeared or are gone; docs/meta.md has their fields)
 */
#ifndef GST_CUDA_XCORR_META_H
#define GST_CUDA_XCORR_META_H

#include <gst/gst.h>

G_BEGIN_DECLS

/**
 * GST_CUDA_XCORR_META_NAME:
 *
 * Name of the custom meta.
 *
 * Since: 0.1
 */
#define GST_CUDA_XCORR_META_NAME "GstCudaXCorrMeta"

/**
 * GstCudaXCorrPeak:
 * @template_index: index of the template among those of that frame, from 0
 * @template_id: the template's own number, from 1, which it keeps when others are added or removed;
 *     the one that `add-template` and `capture-template` return
 * @label: (transfer none): the template's label, for a file its name without extension; lives as
 *     long as the result
 * @sample: (transfer none): which of the templates with that label: a file's name without
 * extension, for other templates the label; lives as long as the result
 * @id: number of the track that this peak belongs to, 0: none, without `track`
 * @x: left edge in pixels of the analysed frame, to a fraction of a pixel with `subpixel`
 * @y: top edge
 * @width: the template's width in pixels of the analysed frame
 * @height: the template's height
 * @nx: left edge as a fraction of the frame's width
 * @ny: top edge as a fraction of the frame's height
 * @nwidth: width as a fraction of the frame's
 * @nheight: height as a fraction of the frame's
 * @center_x: the template's centre in pixels of the analysed frame; centres of pixels are whole, so
 *     that of an upright template is @x + (@width - 1) / 2
 * @center_y: the same downwards
 * @angle: rotation in degrees, counter-clockwise as seen, -180 to 180; @x to @height are the
 * upright bounds
 * @scale: its size as a factor
 * @corners: x and y of its upper left, upper right, lower right and lower left corner as it lies in
 *     the frame: for an upright template they begin with @x - 0.5 and @y - 0.5
 * @score: the method's score at the whole-pixel position; when @inverted, for the template with
 *     inverted contrast; when @lost, that of a black template window
 * @confidence: with `track` or `min-confidence`, how sure the place is, 0 to 1; 0 when @lost; else -1
 * @similarity: without `track`, how close the match is, 0 to 1, 1 for an identical copy; else -1
 * @inverted: %TRUE if the match has the opposite contrast, dark where the template is bright
 * @lost: %TRUE if the track was not detected in this frame: the place is the last one known
 * @state: (transfer none): "tentative", "tracked" or "lost" for a track, else "none"; lives as long
 *     as the result
 *
 * Where a template was found.
 *
 * Since: 0.1
 */
typedef struct {
  guint template_index, template_id;
  const gchar *label, *sample;
  guint64 id;
  gdouble x, y, width, height;
  gdouble nx, ny, nwidth, nheight;
  gdouble center_x, center_y, angle, scale;
  gdouble corners[8];
  gdouble score;
  gdouble confidence, similarity;
  gboolean inverted;
  gboolean lost;
  const gchar* state;
} GstCudaXCorrPeak;

/**
 * gst_cuda_xcorr_get_structure:
 * @buffer: a buffer
 * @name: of a custom meta
 *
 * Returns: (transfer none) (nullable): the fields of the buffer's first meta of that name, or %NULL
 *     when it has none. Lives as long as the buffer.
 *
 * Since: 0.1
 */
static inline const GstStructure* gst_cuda_xcorr_get_structure(GstBuffer* buffer,
                                                               const gchar* name) {
  GstCustomMeta* meta;

  /* Without the element in the process nobody has registered the meta. */
  if (gst_meta_get_info(name) == NULL) return NULL;
  meta = gst_buffer_get_custom_meta(buffer, name);
  return meta ? gst_custom_meta_get_structure(meta) : NULL;
}

/**
 * gst_cuda_xcorr_get_result:
 * @buffer: a buffer
 *
 * Returns: (transfer none) (nullable): the results of the first `cudaxcorr` that the buffer passed,
 * or %NULL when it has passed none. Lives as long as the buffer.
 *
 * Since: 0.1
 */
static inline const GstStructure* gst_cuda_xcorr_get_result(GstBuffer* buffer) {
  return gst_cuda_xcorr_get_structure(buffer, GST_CUDA_XCORR_META_NAME);
}

/**
 * gst_cuda_xcorr_get_n_peaks:
 * @result: (nullable): a meta's or a message's structure
 *
 * Returns: the number of peaks, 0 without a result
 *
 * Since: 0.1
 */
static inline guint gst_cuda_xcorr_get_n_peaks(const GstStructure* result) {
  const GValue* peaks = result ? gst_structure_get_value(result, "peaks") : NULL;

  return peaks && GST_VALUE_HOLDS_ARRAY(peaks) ? gst_value_array_get_size(peaks) : 0;
}

/**
 * gst_cuda_xcorr_get_peak:
 * @result: (nullable): a meta's or a message's structure
 * @index: which peak, below gst_cuda_xcorr_get_n_peaks()
 * @peak: (out caller-allocates): the peak
 *
 * Returns: %FALSE, with @peak undefined, when there is no such peak
 *
 * Since: 0.1
 */
static inline gboolean gst_cuda_xcorr_get_peak(const GstStructure* result, guint index,
                                               GstCudaXCorrPeak* peak) {
  const GstStructure* fields;
  const GValue *item, *corners;
  guint i;

  if (index >= gst_cuda_xcorr_get_n_peaks(result)) return FALSE;
  item = gst_value_array_get_value(gst_structure_get_value(result, "peaks"), index);
  fields = GST_VALUE_HOLDS_STRUCTURE(item) ? gst_value_get_structure(item) : NULL;
  corners = fields ? gst_structure_get_value(fields, "corners") : NULL;
  if (!corners || !GST_VALUE_HOLDS_ARRAY(corners) || gst_value_array_get_size(corners) != 8)
    return FALSE;
  for (i = 0; i < 8; i++) {
    item = gst_value_array_get_value(corners, i);
    if (!G_VALUE_HOLDS_DOUBLE(item)) return FALSE;
    peak->corners[i] = g_value_get_double(item);
  }
  peak->confidence = peak->similarity = -1;
  gst_structure_get_double(fields, "confidence", &peak->confidence);
  gst_structure_get_double(fields, "similarity", &peak->similarity);
  peak->label = gst_structure_get_string(fields, "label");
  peak->sample = gst_structure_get_string(fields, "sample");
  peak->state = gst_structure_get_string(fields, "state");
  return gst_structure_get(
      fields, "template", G_TYPE_UINT, &peak->template_index, "template-id", G_TYPE_UINT,
      &peak->template_id, "id", G_TYPE_UINT64, &peak->id, "x", G_TYPE_DOUBLE, &peak->x, "y",
      G_TYPE_DOUBLE, &peak->y, "width", G_TYPE_DOUBLE, &peak->width, "height", G_TYPE_DOUBLE,
      &peak->height, "nx", G_TYPE_DOUBLE, &peak->nx, "ny", G_TYPE_DOUBLE, &peak->ny, "nwidth",
      G_TYPE_DOUBLE, &peak->nwidth, "nheight", G_TYPE_DOUBLE, &peak->nheight, "center-x",
      G_TYPE_DOUBLE, &peak->center_x, "center-y", G_TYPE_DOUBLE, &peak->center_y, "angle",
      G_TYPE_DOUBLE, &peak->angle, "scale", G_TYPE_DOUBLE, &peak->scale, "score", G_TYPE_DOUBLE,
      &peak->score, "inverted", G_TYPE_BOOLEAN, &peak->inverted, "lost", G_TYPE_BOOLEAN,
      &peak->lost, NULL);
}

/**
 * gst_cuda_xcorr_peak_rescale:
 * @peak: a peak
 * @width: the buffer's present width in pixels, from its caps
 * @height: the buffer's present height
 *
 * Expresses the peak's place, size, centre and corners in pixels of a frame that was scaled as a
 * whole since the analysis. Cropping and rotation cannot be undone this way.
 *
 * Since: 0.1
 */
static inline void gst_cuda_xcorr_peak_rescale(GstCudaXCorrPeak* peak, gint width, gint height) {
  const gdouble across = peak->nwidth * width / peak->width;
  const gdouble down = peak->nheight * height / peak->height;
  guint i;

  /* Edges, which lie half a pixel before the centres of pixels, scale with the image. */
  peak->center_x = (peak->center_x + 0.5) * across - 0.5;
  peak->center_y = (peak->center_y + 0.5) * down - 0.5;
  for (i = 0; i < 8; i++)
    peak->corners[i] = (peak->corners[i] + 0.5) * (i % 2 ? down : across) - 0.5;
  peak->x = peak->nx * width;
  peak->y = peak->ny * height;
  peak->width = peak->nwidth * width;
  peak->height = peak->nheight * height;
}

G_END_DECLS

#endif
