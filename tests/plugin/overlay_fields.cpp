// SPDX-License-Identifier: LGPL-2.1-or-later
//
// xcorroverlay: arrows and colours of a displacement field are where its windows are.
#include <cmath>
#include <limits>

#include "overlay_harness.hpp"

#include <gstcudaxcorrfieldmeta.h>

namespace {

constexpr guint32 yellow = 0xf0e442, vermilion = 0xd55e00;

/// A field of 2 x 2 windows, 40 pixels apart, of a frame of the harness's size.
struct MadeField {
  const char* state = "measured";
  int columns = 2, rows = 2, window = 32, spacing = 40;
  std::vector<float> x{59.5F, 99.5F, 59.5F, 99.5F}, y{39.5F, 39.5F, 79.5F, 79.5F};
  std::vector<float> dx{0, 0, 0, 0}, dy{0, 0, 0, 0}, status{0, 0, 0, 0};
  std::vector<float> dx_by_x{0, 0, 0, 0}, dx_by_y{0, 0, 0, 0};
  std::vector<float> dy_by_x{0, 0, 0, 0}, dy_by_y{0, 0, 0, 0};
};

void set_array(GstStructure* structure, const char* name, const std::vector<float>& values) {
  GBytes* bytes = g_bytes_new(values.data(), values.size() * sizeof(float));
  gst_structure_set(structure, name, G_TYPE_BYTES, bytes, nullptr);
  g_bytes_unref(bytes);
}

void show(Overlay& overlay, const MadeField& made) {
  static const gchar* no_tags[] = {nullptr};
  if (!gst_meta_get_info(GST_CUDA_XCORR_FIELD_META_NAME))
    gst_meta_register_custom(GST_CUDA_XCORR_FIELD_META_NAME, no_tags, nullptr, nullptr, nullptr);
  GstBuffer* buffer = overlay.frame();
  GstStructure* field = gst_custom_meta_get_structure(
      gst_buffer_add_custom_meta(buffer, GST_CUDA_XCORR_FIELD_META_NAME));
  gst_structure_set(field, "state", G_TYPE_STRING, made.state, "frame-width", G_TYPE_INT,
                    frame_width, "frame-height", G_TYPE_INT, frame_height, "columns", G_TYPE_INT,
                    made.columns, "rows", G_TYPE_INT, made.rows, "window", G_TYPE_INT, made.window,
                    "spacing", G_TYPE_INT, made.spacing, nullptr);
  set_array(field, "x", made.x);
  set_array(field, "y", made.y);
  set_array(field, "dx", made.dx);
  set_array(field, "dy", made.dy);
  set_array(field, "status", made.status);
  set_array(field, "dx-by-x", made.dx_by_x);
  set_array(field, "dx-by-y", made.dx_by_y);
  set_array(field, "dy-by-x", made.dy_by_x);
  set_array(field, "dy-by-y", made.dy_by_y);
  overlay.pass(buffer);
}

/// With lines of two pixels in frames of that height.
const std::string thick = "line-width=24 ";

ELEMENT_TEST(arrows) {
  Overlay overlay(thick + "field-arrow-scale=5");
  MadeField field;
  field.dx[0] = 4;
  show(overlay, field);
  for (int x = 62; x < 76; ++x) assert_equals_int(overlay.color(x, 39), yellow);
  fail_unless(overlay.is_ground(90, 39) && overlay.is_ground(50, 39));
  fail_unless(overlay.is_ground(70, 60) && overlay.is_ground(110, 39));
}

/// By itself the longest arrow is as long as windows are apart.
ELEMENT_TEST(length_of_arrows) {
  Overlay overlay(thick);
  MadeField field;
  field.dy[1] = 0.02F;
  show(overlay, field);
  for (int y = 44; y < 74; ++y) assert_equals_int(overlay.color(99, y), yellow);
  fail_unless(overlay.is_ground(99, 85));
  // And one of a known length is in the lower left corner.
  fail_unless(overlay.count(yellow, 0, 100, 60, 20) > 20);
}

ELEMENT_TEST(windows_that_are_not_ok) {
  Overlay overlay(thick + "field-arrow-scale=5");
  MadeField field;
  field.dx = {4, 4, 4, 4};
  field.status = {0, 1, 2, 4};
  show(overlay, field);
  assert_equals_int(overlay.color(70, 39), yellow);
  assert_equals_int(overlay.color(110, 39), vermilion);
  fail_unless(overlay.is_ground(70, 79) && overlay.is_ground(110, 79));
}

ELEMENT_TEST(map_of_magnitudes) {
  Overlay overlay("field-arrows=false field-map=magnitude field-map-range=5");
  MadeField field;
  field.dx = {3, 0, 0, 3};
  field.dy = {4, 0, 0, 4};
  show(overlay, field);
  // Six tenths of the last colour, yellow, and of the first, violet, over gray.
  const auto is_near = [&](int x, int y, int red, int green, int blue) {
    return std::abs(overlay.value(0, x, y) - red) <= 2 &&
           std::abs(overlay.value(1, x, y) - green) <= 2 &&
           std::abs(overlay.value(2, x, y) - blue) <= 2;
  };
  for (const auto& [x, y] : {std::pair{42, 22}, {77, 57}})
    fail_unless(is_near(x, y, 192, 179, 62), "%x", overlay.color(x, y));
  for (const auto& [x, y] : {std::pair{82, 22}, {42, 90}})
    fail_unless(is_near(x, y, 81, 41, 90), "%x", overlay.color(x, y));
  fail_unless(overlay.is_ground(30, 60) && overlay.is_ground(60, 10));
  // The scale of colours, not mixed with the frame.
  fail_unless(is_near(155, 112, 249, 230, 39), "%x", overlay.color(155, 112));
}

/// Strain along x: the displacement grows by a pixel in 40.
ELEMENT_TEST(map_of_strains) {
  Overlay overlay("field-arrows=false field-map=strain-xx field-map-range=0.025");
  MadeField field;
  field.dx = {0, 1, 0, 1};
  show(overlay, field);
  const guint32 stretched = overlay.color(60, 40);
  fail_unless(overlay.value(0, 60, 40) > overlay.value(2, 60, 40) + 50, "%x", stretched);  // red
  assert_equals_int(overlay.color(100, 40), stretched);
  overlay.show({});
  field.dx = {1, 0, 1, 0};
  show(overlay, field);
  fail_unless(overlay.value(2, 60, 40) > overlay.value(0, 60, 40) + 50);  // blue
}

/// Least squares measure slopes: these are shown, and not differences, which are of the other sign
/// here. Only a window that was replaced has none.
ELEMENT_TEST(map_of_measured_strains) {
  Overlay overlay("field-arrows=false field-map=strain-xx field-map-range=0.025");
  MadeField field;
  field.dx = {1, 0, 1, 0};
  field.dx_by_x = {0.025F, 0.025F, 0.025F, 0};
  field.status = {0, 0, 0, 1};
  show(overlay, field);
  for (const auto& [x, y] : {std::pair{45, 25}, {85, 25}, {45, 65}})
    fail_unless(overlay.value(0, x, y) > overlay.value(2, x, y) + 50, "%d, %d", x, y);  // red
  fail_unless(overlay.value(2, 85, 65) > overlay.value(0, 85, 65) + 50);                // blue
}

/// A map, and which slopes it is of.
struct SlopeMap {
  const char* map;
  std::vector<float> MadeField::*positive;
  std::vector<float> MadeField::*negative;  ///< null: none
};

const SlopeMap slope_maps[] = {
    {"strain-xx", &MadeField::dx_by_x, nullptr},
    {"strain-yy", &MadeField::dy_by_y, nullptr},
    {"strain-xy", &MadeField::dx_by_y, nullptr},
    {"strain-xy", &MadeField::dy_by_x, nullptr},
    {"vorticity", &MadeField::dy_by_x, &MadeField::dx_by_y},
};

ELEMENT_TESTS(maps_of_each_slope, 0, G_N_ELEMENTS(slope_maps)) {
  const SlopeMap& shown = slope_maps[__i__];
  Overlay overlay(std::string("field-arrows=false field-map=") + shown.map);
  MadeField field;
  field.*shown.positive = {0.02F, 0.02F, 0, 0};
  if (shown.negative) field.*shown.negative = {0, 0, 0.02F, 0.02F};
  show(overlay, field);
  const auto redness = [&](int x, int y) {
    return overlay.value(0, x, y) - overlay.value(2, x, y);
  };
  fail_unless(redness(60, 40) > 50, "%d", redness(60, 40));
  fail_unless(shown.negative ? redness(60, 75) < -50 : std::abs(redness(60, 75)) < 5, "%d",
              redness(60, 75));
}

/// Windows at places, of 32 pixels.
MadeField made_at_places() {
  MadeField field;
  field.columns = 3;
  field.rows = 1;
  field.spacing = 0;
  field.x = {39.5F, 99.5F, 79.5F};
  field.y = {29.5F, 39.5F, 89.5F};
  field.dx = {0.02F, 0, 0};
  for (auto* array :
       {&field.dy, &field.status, &field.dx_by_x, &field.dx_by_y, &field.dy_by_x, &field.dy_by_y})
    array->resize(3);
  return field;
}

ELEMENT_TEST(arrows_at_places) {
  Overlay overlay(thick);
  show(overlay, made_at_places());
  for (int x = 42; x < 66; ++x) assert_equals_int(overlay.color(x, 29), yellow);
  fail_unless(overlay.is_ground(76, 29));
  fail_unless(!overlay.is_ground(99, 39) && !overlay.is_ground(79, 89));
}

ELEMENT_TEST(map_at_places) {
  Overlay overlay("field-arrows=false field-map=u");
  show(overlay, made_at_places());
  for (const auto& [x, y] : {std::pair{25, 15}, {54, 44}, {85, 25}, {114, 54}, {65, 75}, {94, 104}})
    fail_unless(!overlay.is_ground(x, y), "%d, %d", x, y);
  for (const auto& [x, y] : {std::pair{22, 29}, {58, 29}, {39, 12}, {99, 58}, {120, 39}, {60, 89}})
    fail_unless(overlay.is_ground(x, y), "%d, %d", x, y);
}

/// There are no windows beside each other to take differences of: only measured ones are shown.
ELEMENT_TEST(strains_at_places) {
  for (const char* map : {"strain-xx", "strain-yy", "strain-xy", "vorticity"}) {
    Overlay overlay(std::string("field-arrows=false field-map=") + map);
    MadeField field = made_at_places();
    show(overlay, field);
    fail_unless(overlay.all_ground(), "%s", map);
    for (auto* slopes : {&field.dx_by_x, &field.dx_by_y, &field.dy_by_y}) slopes->assign(3, 0.01F);
    field.status[2] = 1;
    show(overlay, field);
    fail_unless(!overlay.is_ground(30, 20) && overlay.is_ground(70, 80), "%s", map);
  }
}

/// Arrows stay at their places in a frame that has been scaled since.
ELEMENT_TEST(scaled_frames) {
  Overlay overlay("line-width=12 field-arrow-scale=5");
  overlay.set_size(2 * frame_width, 2 * frame_height);
  MadeField field;
  field.dx[0] = 4;
  show(overlay, field);
  for (int x = 124; x < 150; ++x) assert_equals_int(overlay.color(x, 79), yellow);
}

ELEMENT_TEST(nothing_to_draw) {
  for (const char* state : {"cut", "reference", "no-reference", "unmeasured"}) {
    Overlay overlay("field-map=u");
    MadeField field;
    field.state = state;
    field.dx = {3, 3, 3, 3};
    show(overlay, field);
    fail_unless(overlay.all_ground(), "%s", state);
  }
  Overlay off("field-arrows=false");
  MadeField field;
  field.dx = {3, 3, 3, 3};
  show(off, field);
  fail_unless(off.all_ground());
}

/// Metas that are not what they should be.
ELEMENT_TEST(fields_that_cannot_be) {
  MadeField shorter, endless, roomless;
  roomless.window = roomless.spacing = 0;
  shorter.dx.pop_back();
  endless.dy[2] = std::numeric_limits<float>::quiet_NaN();
  for (const MadeField& field : {shorter, endless, roomless}) {
    Overlay overlay("field-map=vorticity");
    show(overlay, field);
    fail_unless(overlay.all_ground());
  }
}

}  // namespace
