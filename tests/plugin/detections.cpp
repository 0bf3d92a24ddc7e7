// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The property `track-detections`: what a detector finds, as region-of-interest metas, in some
// frames or all, is followed by ids that stay.
#include <cmath>
#include <initializer_list>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "detected.hpp"

namespace {

ELEMENT_TEST(between_detections_it_is_followed) {
  Following element;
  guint64 car_id = 0, man_id = 0;
  for (int i = 0; i < 60; ++i) {
    const Thing car{20 + 4 * i, 40, 7}, man{250 - 2 * i, 120, 9, "man"};
    const Found found = element.see({car, man}, i % 5 == 0);
    assert_equals_int(found.peaks.size(), 2);
    const Peak &of_car = at(found, car.x, car.y), &of_man = at(found, man.x, man.y);
    assert_text(of_car.label, "car");
    assert_text(of_man.label, "man");
    if (i == 0) {
      car_id = of_car.id;
      man_id = of_man.id;
      fail_unless(car_id != man_id);
    }
    assert_equals_uint64(of_car.id, car_id);
    assert_equals_uint64(of_man.id, man_id);
    assert_text(of_car.state, i < 2 ? "tentative" : "tracked");
    if (i % 5 == 0) assert_at(of_car, car.x, car.y);
  }
}

/// Where they meet one hides the other, which the detector then does not see.
ELEMENT_TEST(who_passes_whom) {
  Following element;
  std::map<unsigned, guint64> ids;
  for (int i = 0; i < 50; ++i) {
    const Thing behind{20 + 5 * i, 80, 7}, before{270 - 5 * i, 84, 9};
    const bool hidden = std::abs(behind.x - before.x) < width * 2 / 3;
    const Found found = element.find(
        detected_in(frame_of({behind, before}), all_of({before, hidden ? before : behind})));
    if (i == 10)
      ids = {{7, at(found, behind.x, behind.y).id}, {9, at(found, before.x, before.y).id}};
    if (i == 49) {
      assert_equals_uint64(at(found, behind.x, behind.y).id, ids[7]);
      assert_equals_uint64(at(found, before.x, before.y).id, ids[9]);
      guint64 entered = 0;
      GstStructure* stats = nullptr;
      g_object_get(element.element, "stats", &stats, nullptr);
      gst_structure_get_uint64(stats, "entered", &entered);
      gst_structure_free(stats);
      assert_equals_uint64(entered, 2);
    }
  }
}

/// It is found by what it looks like, not by where it was.
ELEMENT_TEST(back_elsewhere) {
  Following element("min-frames-for-lost=3");
  const Thing other{240, 140, 9};
  guint64 id = 0, id_of_other = 0;
  for (int i = 0; i < 20; ++i) {
    const Found found = element.see({{60, 40, 7}, other});
    id = at(found, 60, 40).id;
    id_of_other = at(found, 240, 140).id;
  }
  for (int i = 0; i < 10; ++i) element.see({other});
  Found found;
  for (int i = 0; i < 6; ++i) found = element.see({{150, 90, 7}, other});
  assert_equals_uint64(at(found, 150, 90).id, id);
  assert_equals_uint64(at(found, 240, 140).id, id_of_other);
}

/// A filter alone would stay on the ground that it has learnt.
ELEMENT_TEST(what_is_gone_is_lost) {
  Following element;
  const Thing other{240, 140, 9};
  for (int i = 0; i < 20; ++i) element.see({{60, 40, 7}, other});
  Found found;
  for (int i = 0; i < 40; ++i) found = element.see({other});
  assert_equals_int(found.peaks.size(), 2);
  int lost = 0;
  for (const Peak& peak : found.peaks) lost += peak.lost;
  assert_equals_int(lost, 1);
}

ELEMENT_TEST(no_more_than_max_targets) {
  Following element("max-targets=2");
  const std::initializer_list<Thing> things = {
      {10, 10, 7}, {100, 20, 8}, {200, 120, 9}, {60, 140, 10, "man"}};
  for (int i = 0; i < 5; ++i) {
    const Found found = element.see(things);
    assert_equals_int(found.peaks.size(), 3);  // two of one label, one of the other
  }
}

/// Boxes outside, of no size, of the whole frame, twice; not sure, or no number at all; thousands.
ELEMENT_TEST(bad_detections) {
  Following element;
  const Thing car{60, 40, 7};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (int i = 0; i < 5; ++i) {
    std::vector<Detected> all = all_of({car, car});
    for (const Detected& bad :
         std::initializer_list<Detected>{{400, 10, width, height, "car"},
                                         {10, 300, width, height, "car"},
                                         {20, 20, 0, 10, "car"},
                                         {20, 20, 3, 3, "car"},
                                         {0, 0, 100000, 100000, "car"},
                                         {0, 0, -1, -1, "car"},
                                         {20, 20, -1, 30, "car"},
                                         {20, 20, std::numeric_limits<int>::max(), 30, "car"},
                                         {20, 20, 30, std::numeric_limits<int>::max(), "car"},
                                         {150, 100, width, height, "car", 0.1},
                                         {200, 100, width, height, "car", nan}})
      all.push_back(bad);
    const Found found = element.find(detected_in(frame_of({car}), all));
    assert_equals_int(found.peaks.size(), 1);
    assert_at(found.peaks[0], car.x, car.y);
  }
  std::vector<Detected> many;
  for (int i = 0; i < 3000; ++i)
    many.push_back({i % 290, (7 * i) % 160, width, height, i % 2 ? "car" : "man"});
  const Found found = element.find(detected_in(frame_of({car}), many));
  fail_unless(found.peaks.size() <= 128, "%d targets", static_cast<int>(found.peaks.size()));
}

/// Its own results are no detections of another element behind it.
ELEMENT_TEST(results_are_no_detections) {
  Following element;
  const Thing car{60, 40, 7};
  GstBuffer* out = element.pass(detected_in(frame_of({car}), all_of({car})));
  int own = 0;
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             out, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    auto* roi = reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta);
    if (!gst_video_region_of_interest_meta_get_param(roi, "cudaxcorr")) continue;
    ++own;
    assert_equals_int(roi->id, 1);
    assert_equals_string(g_quark_to_string(roi->roi_type), "car");
  }
  assert_equals_int(own, 1);
  Following second;
  assert_equals_int(second.find(out).peaks.size(), 1);
}

ELEMENT_TEST(switched_on_and_off) {
  const Thing car{60, 40, 7};
  Finder element("threshold=0.9 subpixel=none template=" +
                 save(texture(width, height, 7), "car.png"));
  element.set_format(GST_VIDEO_FORMAT_GRAY8, frame_width, frame_height);
  const auto see = [&] { return element.find(detected_in(frame_of({car}), all_of({car}))).peaks; };
  assert_equals_uint64(see().at(0).id, 0);
  element.set("track-detections", "true");
  for (int i = 0; i < 3; ++i) assert_equals_uint64(see().at(0).id, 1);
  GstMessage* warning = element.message(GST_MESSAGE_WARNING);
  const std::string text = text_of(warning, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED);
  assert_contains(text, "track-detections");
  element.set("track-detections", "false");
  assert_equals_uint64(see().at(0).id, 0);
  assert_text(see().at(0).label, "car");
}

/// Filters are of 8 bits.
ELEMENT_TEST(deep_frames_pass) {
  Finder element("track-detections=true");
  element.set_format(GST_VIDEO_FORMAT_GRAY16_LE, frame_width, frame_height);
  const Found found = element.find(make_frame(GST_VIDEO_FORMAT_GRAY16_LE, frame_of({{60, 40, 7}})));
  fail_unless(!found.analysed);
  const std::string text =
      text_of(element.message(GST_MESSAGE_WARNING), GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT);
  assert_contains(text, "8 bits");
}

}  // namespace
