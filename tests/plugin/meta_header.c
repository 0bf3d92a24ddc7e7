/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The public headers from plain C, in a process that has never seen the element, and with results
 * that are not what they should be.
 */
#include <gstcudaxcorrfieldmeta.h>

int
main (int argc, char **argv)
{
  GstBuffer *buffer;
  GstStructure *no_peaks, *wrong_peaks;
  GstCudaXCorrPeak peak = { 0 };
  static const gfloat numbers[] = { 1, -2 };
  const gfloat *array;
  GstStructure *field;
  GBytes *bytes;
  gsize length = 1;

  gst_init (&argc, &argv);
  buffer = gst_buffer_new ();
  g_assert_null (gst_cuda_xcorr_get_result (buffer));
  gst_buffer_unref (buffer);

  g_assert_cmpuint (gst_cuda_xcorr_get_n_peaks (NULL), ==, 0);
  g_assert_false (gst_cuda_xcorr_get_peak (NULL, 0, &peak));
  no_peaks = gst_structure_new_empty ("cudaxcorr");
  g_assert_cmpuint (gst_cuda_xcorr_get_n_peaks (no_peaks), ==, 0);
  gst_structure_free (no_peaks);
  wrong_peaks = gst_structure_new ("cudaxcorr", "peaks", G_TYPE_INT, 3, NULL);
  g_assert_false (gst_cuda_xcorr_get_peak (wrong_peaks, 0, &peak));
  gst_structure_free (wrong_peaks);

  buffer = gst_buffer_new ();
  g_assert_null (gst_cuda_xcorr_get_field (buffer));
  gst_buffer_unref (buffer);
  g_assert_null (gst_cuda_xcorr_field_get_array (NULL, "dx", &length));
  g_assert_cmpuint (length, ==, 0);
  field = gst_structure_new ("field", "dx", G_TYPE_INT, 3, NULL);
  g_assert_null (gst_cuda_xcorr_field_get_array (field, "dx", &length));
  g_assert_null (gst_cuda_xcorr_field_get_array (field, "dy", &length));
  bytes = g_bytes_new_static (numbers, sizeof numbers);
  gst_structure_set (field, "dx", G_TYPE_BYTES, bytes, NULL);
  g_bytes_unref (bytes);
  array = gst_cuda_xcorr_field_get_array (field, "dx", &length);
  g_assert_cmpuint (length, ==, 2);
  g_assert_cmpfloat (array[1], ==, -2);
  gst_structure_free (field);

  peak.nx = 0.25;
  peak.ny = 0.5;
  peak.nwidth = peak.nheight = 0.125;
  gst_cuda_xcorr_peak_rescale (&peak, 640, 480);
  g_assert_cmpfloat (peak.x, ==, 160);
  g_assert_cmpfloat (peak.y, ==, 240);
  g_assert_cmpfloat (peak.width, ==, 80);
  g_assert_cmpfloat (peak.height, ==, 60);
  return 0;
}
