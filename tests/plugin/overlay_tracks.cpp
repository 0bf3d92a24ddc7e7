// SPDX-License-Identifier: LGPL-2.1-or-later
//
// xcorroverlay: what it shows of tracks, in trails and in text.
#include "overlay_harness.hpp"

namespace {

// ---- trails ---------------------------------------------------------------------------------

/// A track that moves right by 20 pixels per frame; its boxes are 6 pixels wide.
void go_right(Overlay& overlay, int from, int to) {
  for (int x = from; x <= to; x += 20) overlay.show({{x - 3.0, 57, 6, 6, 1}});
}

ELEMENT_TEST(trail_shows_the_way) {
  Overlay overlay(box_only + "trail-length=3");
  go_right(overlay, 20, 120);
  fail_unless(overlay.count(orange, 85, 60, 20, 1) == 20, "no trail");
  fail_unless(overlay.count(orange, 20, 50, 50, 20) == 0, "the trail is too long");
}

ELEMENT_TEST(trail_ends_with_the_segment) {
  Overlay overlay(box_only);
  go_right(overlay, 20, 80);
  fail_unless(overlay.count(orange, 30, 60, 30, 1) == 30, "no trail");
  gst_harness_push_event(overlay.harness, new_segment());
  go_right(overlay, 120, 120);
  fail_unless(overlay.count(orange, 0, 50, 110, 20) == 0, "the trail goes on");
}

ELEMENT_TEST(trail_can_be_off_and_needs_a_track) {
  Overlay overlay(box_only + "trail-length=0");
  go_right(overlay, 20, 80);
  fail_unless(overlay.count(orange, 0, 50, 70, 20) == 0);
  Overlay untracked(box_only);
  for (const double x : {20, 80}) untracked.show({{x, 57, 6, 6}});
  fail_unless(untracked.count(orange, 0, 50, 70, 20) == 0);
}

/// A lost target's box stays where it was, and its trail fades.
ELEMENT_TEST(trail_of_the_lost_fades) {
  Overlay overlay(box_only + "trail-length=3");
  go_right(overlay, 20, 80);
  overlay.show({{117, 57, 6, 6, 1, true}});
  fail_unless(overlay.count(orange, 85, 60, 20, 1) == 0, "the trail goes where nothing was seen");
  fail_unless(overlay.count(orange, 65, 60, 10, 1) == 10, "no trail");
  for (int frame = 0; frame < 2; ++frame) overlay.show({{77, 57, 6, 6, 1, true}});
  fail_unless(overlay.count(orange, 0, 50, 70, 20) == 0);
}

// ---- what may be found again ------------------------------------------------------------------

/// However long it was lost, and its trail does not go there.
ELEMENT_TEST(box_is_at_the_candidate) {
  Overlay overlay(box_only);
  overlay.show({{20, 20, 20, 16, 1}});
  for (int frame = 0; frame < 60; ++frame) overlay.show({{20, 20, 20, 16, 1, true, "lost"}});
  assert_equals_int(overlay.count(orange), 0);
  overlay.show({{20, 20, 20, 16, 1, true, "tentative", "patch", 0, std::pair{100., 80.}}});
  fail_unless(overlay.count(orange, 96, 76, 28, 24) > 20, "there is no box at the candidate");
  assert_equals_int(overlay.count(orange, 0, 0, 90, frame_height), 0);
  overlay.show({{20, 20, 20, 16, 1, true, "lost"}});
  assert_equals_int(overlay.count(orange), 0);
}

/// A target that is gone for a while comes back elsewhere: until it is found its box is there.
ELEMENT_TEST(candidate_of_a_real_track) {
  const Gray target = texture(16, 16, 7), empty = texture(frame_width, frame_height, 3);
  Finder finder("track=true tracker=template min-frames-for-lost=2 redetect-interval=1 template=" +
                save(target, "target.png") + " ! xcorroverlay color=0xffe69f00 " + box_only);
  finder.set_format(GST_VIDEO_FORMAT_BGRx, frame_width, frame_height);
  const auto pass = [&](int x, int y) {
    Gray scene = empty;
    if (x >= 0) paste(scene, target, x, y);
    return finder.pass(make_frame(GST_VIDEO_FORMAT_BGRx, scene));
  };
  for (int frame = 0; frame < 5; ++frame) gst_buffer_unref(pass(20, 30));
  for (int frame = 0; frame < 3; ++frame) gst_buffer_unref(pass(-1, 0));
  GstBuffer* out = pass(110, 70);
  const Peak peak = found_in(out).peaks.at(0);
  assert_text(peak.state, "tentative");
  fail_unless(peak.lost);
  assert_at(peak, 20, 30, 0.5);
  int drawn = 0;
  for (int x = 106; x < 130; ++x) {
    guint8 bgr[3];
    gst_buffer_extract(out, static_cast<gsize>(68 * frame_width + x) * 4, bgr, sizeof bgr);
    drawn += std::abs(bgr[2] - 0xe6) < 24 && std::abs(bgr[1] - 0x9f) < 24 && bgr[0] < 24;
  }
  fail_unless(drawn > 4, "%d pixels of the upper edge are drawn", drawn);
  gst_buffer_unref(out);
}

// ---- text -----------------------------------------------------------------------------------

ELEMENT_TEST(text_is_above_the_box) {
  Overlay overlay("show-id=false show-score=false font-desc=\"Sans 16px\"");
  overlay.show({in_the_middle});
  const int ground = overlay.count(orange, 56, 20, 60, 25), ink = overlay.count(0, 56, 20, 60, 25);
  fail_unless(ground > 300, "%d pixels of the text's ground", ground);
  fail_unless(ink > 10, "%d pixels of the text", ink);
  fail_unless(overlay.count(orange, 0, 75, frame_width, 45) == 0);
}

/// The width of the text at a box of that track; 0: there is none.
int text_width(const std::string& properties, const MadePeak& peak) {
  Overlay overlay(properties + " font-desc=\"Sans 8\"");
  overlay.show({peak});
  return overlay.count(orange, 0, 53, frame_width, 1);
}

ELEMENT_TEST(text_has_what_is_asked_for) {
  int width = 0;
  for (const char* properties :
       {"show-label=false show-score=false", "show-score=false", "show-id=true"}) {
    const int wider = text_width(properties, {10, 60, 10, 10, 1});
    fail_unless(wider > width, "%s: %d pixels wide", properties, wider);
    width = wider;
  }
  assert_equals_int(text_width(box_only, {10, 60, 10, 10, 1}), 0);
}

ELEMENT_TEST(text_says_the_state) {
  const auto width = [](bool lost, const char* state) {
    return text_width("show-score=false", {10, 60, 10, 10, 1, lost, state});
  };
  const int plain = width(false, nullptr);
  for (const char* state : {"none", "tracked"}) assert_equals_int(width(false, state), plain);
  fail_unless(width(false, "tentative") > plain);
  fail_unless(width(true, "lost") > plain);
}

ELEMENT_TEST(text_has_no_score_of_the_lost) {
  const std::string score_only = "show-label=false show-id=false";
  fail_unless(text_width(score_only, {10, 60, 10, 10, 1}) > 0);
  assert_equals_int(text_width(score_only, {10, 60, 10, 10, 1, true}), 0);
}

/// Where there is one, as tracks have.
ELEMENT_TEST(text_has_the_confidence) {
  const std::string score_only = "show-label=false show-id=false";
  fail_unless(text_width(score_only, {10, 60, 10, 10, 1}) >
              text_width(score_only + " color=0xffe69f00", {10, 60, 10, 10, 0}) + 5);
}

ELEMENT_TEST(text_stays_inside) {
  Overlay overlay("show-id=false");
  overlay.show({{130, 5, 30, 20}});
  fail_unless(overlay.count(orange, 60, 30, 100, 25) > 300, "the text is not below the box");
}

// ---- with cudaxcorr -------------------------------------------------------------------------

/// A target that moves right and down, by 4 and 2 pixels per frame.
ELEMENT_TEST(trail_of_a_real_track) {
  const Gray target = texture(16, 16, 7);
  const std::string file = save(target, "target.png");
  Finder finder("track=true tracker=template template=" + file + " ! xcorroverlay " + box_only);
  finder.set_format(GST_VIDEO_FORMAT_BGRx, frame_width, frame_height);
  GstBuffer* out = nullptr;
  for (int frame = 0; frame < 10; ++frame) {
    Gray scene = texture(frame_width, frame_height, 3);
    paste(scene, target, 20 + 4 * frame, 30 + 2 * frame);
    if (out) gst_buffer_unref(out);
    out = finder.pass(make_frame(GST_VIDEO_FORMAT_BGRx, scene));
  }
  for (int frame = 0; frame < 6; ++frame) {
    const gsize pixel = static_cast<gsize>((38 + 2 * frame) * frame_width + 28 + 4 * frame) * 4;
    guint8 bgr[3];
    gst_buffer_extract(out, pixel, bgr, sizeof bgr);
    fail_unless(std::abs(bgr[2] - 0xe6) < 24 && std::abs(bgr[1] - 0x9f) < 24 && bgr[0] < 24,
                "frame %d: %d %d %d", frame, bgr[2], bgr[1], bgr[0]);
  }
  gst_buffer_unref(out);
}

}  // namespace
