/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The public header from plain C, in a process that has never seen the element, and with results
 * that are not what they should be.
 */
#include <gstcudaxcorrmeta.h>

int
main (int argc, char **argv)
{
  GstBuffer *buffer;
  GstStructure *no_peaks, *wrong_peaks;
  GstCudaXCorrPeak peak = { 0 };

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
