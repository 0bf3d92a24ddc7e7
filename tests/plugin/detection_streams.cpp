// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What streams and detectors do to targets of `track-detections` that nobody wishes for: boxes that
// come late, cuts, seeks, frames that are missing or come twice, settings that change.
#include <string>
#include <utility>
#include <vector>

#include "detected.hpp"

namespace {

/// Shows it at rest, and is its number.
guint64 settle(Following& element, const Thing& thing) {
  Found found;
  for (int i = 0; i < 10; ++i) found = element.see({thing});
  return at(found, thing.x, thing.y).id;
}

/// A slow detector's boxes are where things were three frames ago. There is one target of each, no
/// farther behind than the detector is and a frame more.
ELEMENT_TEST(late_detections) {
  Following element;
  constexpr int late = 3, speed = 3;
  const auto car_in = [](int frame) { return Thing{20 + speed * frame, 60, 7}; };
  for (int i = 0; i < 60; ++i) {
    const Found found = element.find(
        detected_in(frame_of({car_in(i)}), i >= late && i % 4 == 0 ? all_of({car_in(i - late)})
                                                                   : std::vector<Detected>()));
    const auto seen = claims(found);
    assert_equals_int(seen.size(), i < 4 ? 0 : 1);
    if (seen.empty()) continue;
    assert_equals_uint64(seen[0].id, 1);
    const double behind = car_in(i).x - seen[0].x;
    fail_unless(behind > -speed && behind <= late * speed + speed, "%f behind in frame %d", behind,
                i);
  }
}

/// The detector says where a thing is, and where it was in the frame before as well.
ELEMENT_TEST(detections_that_come_twice) {
  Following element;
  const Thing before{60, 40, 7}, now{64, 40, 7};
  settle(element, before);
  for (int i = 0; i < 10; ++i) {
    const auto seen = claims(element.find(detected_in(frame_of({now}), all_of({before, now}))));
    assert_equals_int(seen.size(), 1);
    assert_equals_uint64(seen[0].id, 1);
  }
}

/// To another scene, without an event in the stream: what it shows is new, and nothing else is
/// claimed. Back in the old one the old target is known.
ELEMENT_TEST(a_cut) {
  Following element;
  const Thing car{60, 40, 7}, other{200, 120, 9};
  const guint64 id = settle(element, car);
  const Gray scene = texture(frame_width, frame_height, 77);
  for (int i = 0; i < 12; ++i) {
    Gray image = scene;
    paste(image, texture(width, height, other.look), other.x, other.y);
    const auto seen = claims(element.find(detected_in(image, all_of({other}))));
    assert_equals_int(seen.size(), 1);
    assert_at(seen[0], other.x, other.y);
    fail_unless(seen[0].id != id);
  }
  Found found;
  for (int i = 0; i < 5; ++i) found = element.see({car});
  assert_equals_uint64(at(found, car.x, car.y).id, id);
}

/// Where it was before is not claimed after a seek; where it is, it is known.
ELEMENT_TEST(a_seek) {
  Following element;
  const guint64 id = settle(element, {60, 40, 7});
  fail_unless(gst_harness_push_event(element.harness, gst_event_new_flush_start()));
  fail_unless(gst_harness_push_event(element.harness, gst_event_new_flush_stop(TRUE)));
  fail_unless(gst_harness_push_event(element.harness, new_segment()));
  assert_equals_int(claims(element.see({})).size(), 0);
  const Thing later{210, 130, 7};
  Found found;
  for (int i = 0; i < 5; ++i) found = element.see({later});
  assert_equals_int(claims(found).size(), 1);
  assert_equals_uint64(at(found, later.x, later.y).id, id);
}

ELEMENT_TEST(frames_that_are_missing_or_come_twice) {
  Following element;
  int x = 20;
  for (int i = 0; i < 48; ++i) {
    x += i % 5 == 0 ? 0 : i % 7 == 0 ? 12 : 4;
    const Found found = element.see({{x, 80, 7}}, i % 3 == 0);
    assert_equals_int(claims(found).size(), 1);
    assert_equals_uint64(at(found, x, 80).id, 1);
  }
}

/// Each while frames flow: targets keep their numbers.
ELEMENT_TEST(settings_that_change) {
  Following element;
  const std::initializer_list<Thing> things = {{60, 40, 7}, {130, 60, 8}, {200, 120, 9, "man"}};
  guint64 id = 0;  // the man's
  for (const auto& [property, value] : {std::pair<std::string, std::string>{"max-targets", "1"},
                                        {"max-targets", "64"},
                                        {"min-confidence", "0.2"},
                                        {"min-frames-for-lost", "9"},
                                        {"forget-after", "3"},
                                        {"threshold", "0.9"},
                                        {"track-detections", "false"},
                                        {"track-detections", "true"}}) {
    element.set(property.c_str(), value.c_str());
    if (value == "false") {
      // Without templates there is nothing to be searched, then: frames pass.
      gst_buffer_unref(element.pass(detected_in(frame_of(things), all_of(things))));
      continue;
    }
    Found found;
    for (int i = 0; i < 8; ++i) found = element.see(things, i % 3 == 0);
    assert_equals_int(claims(found).size(), value == "1" ? 2 : 3);  // of each label one, or all
    const guint64 now = at(found, 200, 120).id;
    fail_unless(id == 0 || now == id, "%s: %" G_GUINT64_FORMAT, property.c_str(), now);
    id = now;
  }
}

}  // namespace
