// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Settings, files and frames that cudaxcorrfield cannot measure with: a warning names what is
// wrong, the old settings stay and frames flow on.
#include "fields.hpp"

namespace {

const std::string whole = "subpixel=none search-range=8 ";

struct BadSetting {
  const char *property, *value, *text;
};

constexpr BadSetting bad_settings[] = {
    {"windows", "<128>", "windows of 128x128 are larger than the image of 96x80"},
    {"windows", "<16,32>", "windows must not grow from pass to pass: 32 after 16"},
    {"windows", "<2>", "windows must be of 4 to 256 pixels along a side, not 2"},
    {"windows", "<>", "there must be a window size at least"},
    {"spacing", "0", "the spacing must be at least 1, not 0"},
    {"spline-degree", "4", "the spline's degree must be 3 or 5, not 4"},
    {"min-counted", "0", "min_counted must be above 0"},
    {"reference", "file", "With reference=file there must be an image in 'reference-file'"},
};

ELEMENT_TESTS(bad_setting_while_playing, 0, G_N_ELEMENTS(bad_settings)) {
  const BadSetting& bad = bad_settings[__i__];
  FieldFinder finder(whole);
  finder.measure(view_at(0, 0));
  const std::string before = finder.get(bad.property);
  finder.set(bad.property, bad.value);
  assert_moved(finder.measure(view_at(3, -2)), -3, 2);
  finder.expect_warning(GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, bad.text);
  assert_text(finder.get(bad.property), before);
  assert_moved(finder.measure(view_at(4, -2)), -1, 0);
  finder.expect_no_message();
}

ELEMENT_TESTS(bad_setting_at_start, 0, G_N_ELEMENTS(bad_settings)) {
  const BadSetting& bad = bad_settings[__i__];
  FieldFinder finder(whole);
  gst_element_set_state(finder.harness->element, GST_STATE_NULL);
  finder.set(bad.property, bad.value);
  gst_harness_play(finder.harness);
  finder.measure(view_at(0, 0));
  finder.expect_warning(GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, bad.text);
  assert_text(finder.measure(view_at(3, -2)).state, "measured");
  finder.expect_no_message();
}

ELEMENT_TEST(malformed_windows) {
  FieldFinder finder(whole);
  GValue array = G_VALUE_INIT, item = G_VALUE_INIT;
  gst_value_array_init(&array, 1);
  g_value_init(&item, G_TYPE_STRING);
  g_value_set_string(&item, "wide");
  gst_value_array_append_and_take_value(&array, &item);
  g_object_set_property(G_OBJECT(finder.element), "windows", &array);
  g_value_unset(&array);
  finder.expect_warning(GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
                        "'windows' cannot be < (string)wide >, the old value stays");
  assert_text(finder.get("windows"), "< (int)32 >");
}

/// Whoever adds pixels around has frames that can be measured again.
ELEMENT_TEST(small_frames) {
  FieldFinder finder(whole);
  assert_text(finder.measure(Gray(20, 24, 9)).state, "unmeasured");
  finder.expect_warning(GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
                        "Frames of these caps pass unmeasured: windows of 32x32 are larger than "
                        "the image of 20x24");
  finder.measure(Gray(20, 24, 9));
  finder.expect_no_message();
  finder.measure(view_at(0, 0));
  assert_moved(finder.measure(view_at(1, 1)), -1, -1);
  finder.expect_no_message();
}

/// A frame that holds less than it promises.
ELEMENT_TEST(bad_frame) {
  FieldFinder finder(whole);
  finder.measure(view_at(0, 0));
  assert_text(finder.measure(gst_buffer_new_allocate(nullptr, 100, nullptr)).state, "unmeasured");
  finder.expect_warning(GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
                        "A frame passes unmeasured: it is too small for its caps");
  assert_moved(finder.measure(view_at(3, -2)), -3, 2);
}

/// As cudaxcorr does: rows from the last to the first, and odd addresses.
ELEMENT_TEST(frames_of_16_bits_that_cannot_be_read) {
  constexpr gint row = 2 * field_width;
  const struct {
    gsize offset;
    gint stride;
    const char* text;
  } faults[] = {{row * (field_height - 1), -row, "its 16-bit rows lie from the last to the first"},
                {1, row, "its 16-bit pixels begin at odd addresses"},
                {0, row + 1, "its 16-bit pixels begin at odd addresses"}};
  for (const auto& [offset, stride, text] : faults) {
    FieldFinder finder(whole);
    finder.set_format(GST_VIDEO_FORMAT_GRAY16_LE, field_width, field_height);
    for (int i = 0; i < 2; ++i) {
      GstBuffer* bad = gst_buffer_new_allocate(nullptr, (row + 1) * (field_height + 1), nullptr);
      gsize offsets[GST_VIDEO_MAX_PLANES] = {offset};
      gint strides[GST_VIDEO_MAX_PLANES] = {stride};
      gst_buffer_add_video_meta_full(bad, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY16_LE,
                                     field_width, field_height, 1, offsets, strides);
      assert_text(finder.measure(bad).state, "unmeasured");
    }
    finder.expect_warning(GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, text);
    finder.expect_no_message();
  }
}

// ---- files ----------------------------------------------------------------------------------

ELEMENT_TEST(files_at_start) {
  write_file(temporary("text.png"), "This is not an image.\n");
  for (const auto& [property, text] :
       {std::pair{"reference-file", "Cannot read the reference file"},
        std::pair{"mask-file", "Cannot read the mask file"},
        std::pair{"places-file", "Cannot read the places file"}})
    for (const std::string& file : {temporary("missing.png"), temporary("text.png")}) {
      const std::string said = refused_at_start({{property, file}}, GST_RESOURCE_ERROR,
                                                GST_RESOURCE_ERROR_OPEN_READ, "cudaxcorrfield");
      fail_unless(said.find(text) != said.npos && said.find(file) != said.npos, "%s", said.c_str());
    }
}

ELEMENT_TEST(files_while_playing) {
  for (const char* property : {"reference-file", "mask-file", "places-file"}) {
    FieldFinder finder(whole);
    finder.measure(view_at(0, 0));
    finder.set(property, temporary("missing.png"));
    finder.expect_warning(GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ, "missing.png");
    fail_unless(finder.get(property).empty());
    assert_moved(finder.measure(view_at(3, -2)), -3, 2);
  }
}

ELEMENT_TEST(files_of_another_size) {
  const std::string small = save(Gray(40, 30, 255), "small.png");
  FieldFinder masked(whole);
  masked.measure(view_at(0, 0));
  masked.set("mask-file", small);
  assert_moved(masked.measure(view_at(3, -2)), -3, 2);
  masked.expect_warning(GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
                        "small.png' has 40x30 pixels, the frames have 96x80");
  fail_unless(masked.get("mask-file").empty());

  const std::string good = save(view_at(0, 0), "good.png");
  FieldFinder compared(whole + "reference=file reference-file=" + good);
  assert_moved(compared.measure(view_at(1, 1)), -1, -1);
  compared.set("reference-file", small);
  assert_moved(compared.measure(view_at(3, -2)), -3, 2);
  compared.expect_warning(GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
                          "small.png' has 40x30 pixels, the frames have 96x80");
  assert_text(compared.get("reference-file"), good);
}

struct BadPlaces {
  const char *csv, *reason;
};

constexpr BadPlaces bad_places[] = {
    {"50,40\n\n50\n", "line 3 has no x and y"},
    {"50,40\nhere,40\n", "line 2 has no x and y"},
    {"x,y\n50,\n", "line 2 has no x and y"},
    {"column,row\n50,40\n", "no columns x and y"},
    {"x,y\n", "no places"},
    {" \n\n", "no places"},
    {"", "the file is empty"},
};

ELEMENT_TESTS(places_that_cannot_be_read, 0, G_N_ELEMENTS(bad_places)) {
  write_file(temporary("good.csv"), "50.5,40.5\n");
  write_file(temporary("bad.csv"), bad_places[__i__].csv);
  FieldFinder finder(whole + "places-file=" + temporary("good.csv"));
  finder.measure(view_at(0, 0));
  finder.set("places-file", temporary("bad.csv"));
  finder.expect_warning(
      GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ,
      ("Cannot read the places file '" + temporary("bad.csv") + "': " + bad_places[__i__].reason)
          .c_str());
  assert_text(finder.get("places-file"), temporary("good.csv"));
  const Field field = finder.measure(view_at(3, -2));
  assert_equals_int(field.columns, 1);
  assert_moved(field, -3, 2);
  finder.expect_no_message();
}

/// The old ones stay, or the grid does.
ELEMENT_TEST(places_outside_of_the_frame) {
  write_file(temporary("good.csv"), "50.5,40.5\n");
  write_file(temporary("outside.csv"), "50.5,40.5\n90,40\n");
  for (const std::string& file : {std::string(), temporary("good.csv")}) {
    FieldFinder finder(whole + (file.empty() ? "" : "places-file=" + file));
    finder.measure(view_at(0, 0));
    finder.set("places-file", temporary("outside.csv"));
    assert_moved(finder.measure(view_at(3, -2)), -3, 2);
    finder.expect_warning(GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
                          "the window at 90.000000, 40.000000 is not inside the image");
    assert_text(finder.get("places-file"), file);
    finder.expect_no_message();
  }
}

ELEMENT_TEST(places_with_deformation) {
  write_file(temporary("good.csv"), "50.5,40.5\n");
  FieldFinder finder(whole + "places-file=" + temporary("good.csv"));
  finder.measure(view_at(0, 0));
  finder.set("deformation", "true");
  assert_moved(finder.measure(view_at(3, -2)), -3, 2);
  finder.expect_warning(GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
                        "deformation takes a grid, not windows at places");
  assert_text(finder.get("deformation"), "false");
}

// ---- images -------------------------------------------------------------------------------

ELEMENT_TEST(flat_windows) {
  FieldFinder finder(whole);
  finder.measure(Gray(field_width, field_height, 70));
  const Field field = finder.measure(Gray(field_width, field_height, 70));
  assert_text(field.state, "measured");
  for (const float status : field.status) assert_equals_int(static_cast<int>(status), 4);
  assert_equals_float(field.valid, 0);
  assert_equals_float(field.rms, 0);
}

ELEMENT_TEST(a_cut) {
  FieldFinder finder(whole);
  finder.measure(view_at(0, 0));
  assert_moved(finder.measure(view_at(1, 0)), -1, 0);
  gst_message_unref(finder.message(GST_MESSAGE_ELEMENT));
  assert_text(finder.measure(view_at(0, 0, 77)).state, "cut");
  GstMessage* message = finder.message(GST_MESSAGE_ELEMENT);
  assert_equals_string(gst_structure_get_string(gst_message_get_structure(message), "state"),
                       "cut");
  gst_message_unref(message);
  assert_equals_int(stat_of(finder.element, "cuts"), 1);
  assert_moved(finder.measure(view_at(2, 0, 77)), -2, 0);
  finder.set("cut-score", "-1");
  assert_text(finder.measure(view_at(0, 0, 5)).state, "measured");
}

ELEMENT_TEST(a_single_frame) {
  FieldFinder finder(whole);
  finder.measure(view_at(0, 0));
  gst_harness_push_event(finder.harness, gst_event_new_eos());
  finder.expect_warning(GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED,
                        "The stream ends after one frame");
  FieldFinder two(whole);
  two.measure(view_at(0, 0));
  two.measure(view_at(1, 0));
  gst_harness_push_event(two.harness, gst_event_new_eos());
  two.expect_no_message();
}

ELEMENT_TEST(a_signal_without_effect) {
  FieldFinder finder(whole);
  g_signal_emit_by_name(finder.element, "take-reference");
  finder.expect_warning(GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
                        "'take-reference' has no effect unless 'reference' is first or signal");
}

}  // namespace
