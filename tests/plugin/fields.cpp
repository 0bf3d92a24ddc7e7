// SPDX-License-Identifier: LGPL-2.1-or-later
//
// cudaxcorrfield: what it is compared with, what comes out, and where.
#include "fields.hpp"

#include <algorithm>

namespace {

const std::string whole = "subpixel=none search-range=8 ";

// ---- fields ---------------------------------------------------------------------------------

ELEMENT_TEST(previous_frame) {
  FieldFinder finder(whole);
  const Field first = finder.measure(view_at(0, 0), GST_VIDEO_FORMAT_GRAY8, GST_SECOND);
  assert_text(first.state, "reference");
  fail_unless(first.dx.empty());
  const Field field = finder.measure(view_at(3, -2), GST_VIDEO_FORMAT_GRAY8, 2 * GST_SECOND);
  assert_moved(field, -3, 2);
  assert_equals_int(field.columns, 5);  // windows of 32 every 16 pixels
  assert_equals_int(field.rows, 4);
  assert_equals_int(field.spacing, 16);
  assert_equals_float(field.x[0], 15.5);
  assert_equals_float(field.x[1] - field.x[0], 16);
  assert_equals_float(field.y[5] - field.y[0], 16);
  fail_unless(field.pts == 2 * GST_SECOND && field.reference_pts == GST_SECOND);
  fail_unless(field.score[7] == 1, "a copy scores %f", field.score[7]);
  assert_moved(finder.measure(view_at(4, 4)), -1, -6);
  finder.expect_no_message();
}

/// Of the windows that are ok.
ELEMENT_TEST(summary) {
  FieldFinder finder(whole);
  finder.measure(view_at(0, 0));
  const Field field = finder.measure(view_at(3, -2));
  double count = 0, x = 0, y = 0, squares = 0;
  for (std::size_t i = 0; i < field.size(); ++i) {
    if (field.status[i] != 0) continue;
    ++count;
    x += field.dx[i];
    y += field.dy[i];
    squares += field.dx[i] * field.dx[i] + field.dy[i] * field.dy[i];
  }
  fail_unless(count > 0 && count < static_cast<double>(field.size()), "%f windows", count);
  assert_equals_float(field.valid, count / static_cast<double>(field.size()));
  fail_unless(std::abs(field.mean_x - x / count) < 1e-9);
  fail_unless(std::abs(field.mean_y - y / count) < 1e-9);
  fail_unless(std::abs(field.rms - std::sqrt(squares / count)) < 1e-9);
  assert_equals_float(field.median_x, -3);
  assert_equals_float(field.median_y, 2);
}

ELEMENT_TEST(first_frame) {
  FieldFinder finder(whole + "reference=first");
  finder.measure(view_at(0, 0), GST_VIDEO_FORMAT_GRAY8, GST_SECOND);
  finder.measure(view_at(2, 0));
  const Field field = finder.measure(view_at(5, 1));
  assert_moved(field, -5, -1);
  fail_unless(field.reference_pts == GST_SECOND);
  g_signal_emit_by_name(finder.element, "take-reference");
  assert_text(finder.measure(view_at(4, 0)).state, "reference");
  assert_moved(finder.measure(view_at(5, 1)), -1, -1);
}

ELEMENT_TEST(frame_after_a_signal) {
  FieldFinder finder(whole + "reference=signal");
  assert_text(finder.measure(view_at(0, 0)).state, "no-reference");
  g_signal_emit_by_name(finder.element, "take-reference");
  assert_text(finder.measure(view_at(1, 0)).state, "reference");
  assert_moved(finder.measure(view_at(3, 0)), -2, 0);
  assert_moved(finder.measure(view_at(4, 0)), -3, 0);
}

ELEMENT_TEST(image_of_a_file) {
  FieldFinder finder(whole + "reference=file reference-file=" + save(view_at(0, 0), "ref.png"));
  const Field field = finder.measure(view_at(-4, 5));
  assert_moved(field, 4, -5);
  fail_unless(field.reference_pts == GST_CLOCK_TIME_NONE);
  // Another one while playing.
  finder.set("reference-file", save(view_at(-4, 0), "other.png"));
  assert_moved(finder.measure(view_at(-4, 5)), 0, -5);
}

/// A kept reference outlives other settings.
ELEMENT_TEST(settings_change_while_playing) {
  FieldFinder finder(whole + "reference=first");
  finder.measure(view_at(0, 0));
  assert_equals_int(finder.measure(view_at(2, 1)).columns, 5);
  finder.set("windows", "<32,16>");
  finder.set("spacing", "8");
  const Field field = finder.measure(view_at(3, 1));
  assert_equals_int(field.columns, 11);
  assert_moved(field, -3, -1);
  assert_text(finder.get("windows"), "< (int)32, (int)16 >");
  finder.expect_no_message();
}

ELEMENT_TEST(parts_of_a_pixel) {
  const Gray fine = view_at(0, 0, 9, 2 * field_width, 2 * field_height);
  // Each pixel is the mean of four, from an even or an odd column on: half a pixel apart.
  const auto half = [&](int from) {
    Gray small(field_width - 1, field_height);
    for (int y = 0; y < small.height; ++y)
      for (int x = 0; x < small.width; ++x)
        small.at(x, y) = static_cast<std::uint8_t>(
            (fine.at(2 * x + from, 2 * y) + fine.at(2 * x + 1 + from, 2 * y) +
             fine.at(2 * x + from, 2 * y + 1) + fine.at(2 * x + 1 + from, 2 * y + 1) + 2) /
            4);
    return small;
  };
  FieldFinder finder("subpixel=least-squares order=0 search-range=4");
  finder.measure(half(0));
  const Field field = finder.measure(half(1));
  assert_text(field.state, "measured");
  fail_unless(std::abs(field.median_x + 0.5) < 0.06, "%f", field.median_x);
  fail_unless(std::abs(field.median_y) < 0.06, "%f", field.median_y);
}

/// What alternates from pixel to pixel is gone after smoothing.
ELEMENT_TEST(smoothed_frames) {
  Gray uneven = view_at(3, -2);
  for (int y = 0; y < uneven.height; ++y)
    for (int x = 0; x < uneven.width; ++x)
      uneven.at(x, y) =
          static_cast<std::uint8_t>(std::clamp(uneven.at(x, y) + ((x + y) % 2 ? 40 : -40), 0, 255));
  FieldFinder finder(whole + "reference=first");
  finder.measure(view_at(0, 0));
  const Field rough = finder.measure(uneven);
  assert_moved(rough, -3, 2);
  finder.set("prefilter-sigma", "1.5");
  const Field smooth = finder.measure(uneven);
  assert_moved(smooth, -3, 2);
  fail_unless(smooth.score[7] > 0.95 && smooth.score[7] > rough.score[7] + 0.05, "%f, smoothed %f",
              rough.score[7], smooth.score[7]);
  finder.expect_no_message();
}

ELEMENT_TEST(masked_windows) {
  Gray mask(field_width, field_height, 255);
  for (int y = 0; y < field_height; ++y)
    for (int x = 0; x < 40; ++x) mask.at(x, y) = 0;
  FieldFinder finder(whole + "mask-file=" + save(mask, "mask.png"));
  finder.measure(view_at(0, 0));
  const Field field = finder.measure(view_at(2, 0));
  assert_text(field.state, "measured");
  for (int row = 0; row < field.rows; ++row) {
    assert_equals_int(static_cast<int>(field.status[row * 5]), 2);
    assert_equals_int(static_cast<int>(field.status[row * 5 + 4]), 0);
  }
  assert_equals_float(field.valid, 1);
  assert_equals_float(field.mean_x, -2);
}

/// The same places in all forms that a file may have: with names, in another order, quoted.
constexpr const char* files_of_places[] = {
    "50.5,40.5\n30.5,48.5\n62.5,20.5",
    "\xef\xbb\xbfx,y\r\n50.5,40.5\r\n30.5,48.5\r\n\r\n62.5,20.5\r\n",
    "\"\",\"y\",\"x\"\n\"1, left\", 40.5, 50.5\n2,\"48.5\",+30.5\n3,2.05e1,62.5,more\n",
};

ELEMENT_TESTS(windows_at_places, 0, G_N_ELEMENTS(files_of_places)) {
  write_file(temporary("places.csv"), files_of_places[__i__]);
  FieldFinder finder(whole + "places-file=" + temporary("places.csv"));
  finder.measure(view_at(0, 0));
  const Field field = finder.measure(view_at(3, -2));
  assert_moved(field, -3, 2);
  assert_equals_int(field.columns, 3);
  assert_equals_int(field.rows, 1);
  assert_equals_int(field.spacing, 0);
  const float x[] = {50.5F, 30.5F, 62.5F}, y[] = {40.5F, 48.5F, 20.5F};
  for (int i = 0; i < 3; ++i) {
    assert_equals_float(field.x[i], x[i]);
    assert_equals_float(field.y[i], y[i]);
  }
  finder.expect_no_message();
}

/// A kept reference outlives other places and the way back to a grid.
ELEMENT_TEST(places_change_while_playing) {
  write_file(temporary("one.csv"), "48,40\n");
  write_file(temporary("two.csv"), "48,40\n30,40\n");
  FieldFinder finder(whole + "reference=first places-file=" + temporary("one.csv"));
  finder.measure(view_at(0, 0));
  assert_equals_int(finder.measure(view_at(2, 1)).columns, 1);
  finder.set("places-file", temporary("two.csv"));
  const Field field = finder.measure(view_at(3, 1));
  assert_equals_int(field.columns, 2);
  assert_moved(field, -3, -1);
  finder.set("places-file", "");
  assert_equals_int(finder.measure(view_at(3, 1)).columns, 5);
  finder.expect_no_message();
}

ELEMENT_TEST(formats) {
  for (const GstVideoFormat format : all_formats) {
    FieldFinder finder(whole);
    finder.measure(view_at(0, 0), format);
    assert_moved(finder.measure(view_at(3, -2), format), -3, 2);
  }
}

// ---- streams --------------------------------------------------------------------------------

ELEMENT_TEST(frames_are_not_changed) {
  FieldFinder finder(whole);
  finder.measure(view_at(0, 0));
  GstBuffer* frame = make_frame(GST_VIDEO_FORMAT_GRAY8, view_at(1, 1));
  GstMemory* memory = gst_buffer_peek_memory(frame, 0);
  GstBuffer* other = gst_buffer_ref(frame);
  GstBuffer* out = finder.pass(frame);
  fail_unless(gst_buffer_peek_memory(out, 0) == memory, "the pixels were copied");
  fail_unless(gst_cuda_xcorr_get_field(other) == nullptr, "the meta is on a shared buffer");
  gst_buffer_unref(other);
  gst_buffer_unref(out);
}

/// What follows a gap is not compared with what was before it.
ELEMENT_TEST(gaps) {
  FieldFinder finder(whole);
  finder.measure(view_at(0, 0));
  GstBuffer* frame = make_frame(GST_VIDEO_FORMAT_GRAY8, view_at(1, 1));
  GST_BUFFER_FLAG_SET(frame, GST_BUFFER_FLAG_DISCONT);
  assert_text(finder.measure(frame).state, "reference");
  assert_moved(finder.measure(view_at(2, 2)), -1, -1);
}

ELEMENT_TEST(other_sizes) {
  FieldFinder finder(whole + "reference=first");
  finder.measure(view_at(0, 0));
  assert_text(finder.measure(view_at(0, 0, 5, 64, 64)).state, "reference");
  assert_moved(finder.measure(view_at(2, 1, 5, 64, 64)), -2, -1);
  finder.expect_no_message();
}

ELEMENT_TEST(starts_again) {
  FieldFinder finder(whole + "reference=first");
  finder.measure(view_at(0, 0));
  finder.measure(view_at(1, 0));
  gst_element_set_state(finder.harness->element, GST_STATE_NULL);
  assert_text(finder.get("active-backend"), "auto");
  gst_harness_play(finder.harness);
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, field_width, field_height);
  assert_text(finder.measure(view_at(2, 0)).state, "reference");
  assert_moved(finder.measure(view_at(3, 0)), -1, 0);
  assert_equals_int(stat_of(finder.element, "frames"), 2);
  assert_equals_int(stat_of(finder.element, "measured"), 1);
}

ELEMENT_TEST(message_of_each_field) {
  FieldFinder finder(whole);
  finder.measure(view_at(0, 0));
  finder.measure(view_at(3, -2), GST_VIDEO_FORMAT_GRAY8, GST_SECOND);
  GstMessage* message = finder.message(GST_MESSAGE_ELEMENT);
  fail_unless(message != nullptr);
  const GstStructure* said = gst_message_get_structure(message);
  fail_unless(gst_structure_has_name(said, "cudaxcorrfield"));
  assert_equals_float(double_of(said, "median-x"), -3);
  assert_equals_float(double_of(said, "median-y"), 2);
  for (const char* name : {"mean-x", "mean-y", "rms", "valid"})
    fail_unless(gst_structure_has_field_typed(said, name, G_TYPE_DOUBLE), "no %s", name);
  guint64 timestamp = 0;
  fail_unless(gst_structure_get_uint64(said, "timestamp", &timestamp));
  fail_unless(timestamp == GST_SECOND);
  fail_unless(!gst_structure_has_field(said, "dx"));
  gst_message_unref(message);
  fail_unless(finder.message(GST_MESSAGE_ELEMENT) == nullptr, "a second message");
  finder.set("post-messages", "false");
  finder.measure(view_at(3, -2));
  fail_unless(finder.message(GST_MESSAGE_ELEMENT) == nullptr);
}

}  // namespace
