// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Templates of more pixels than `max-template-pixels`, or that the library cannot search for: they
// are refused by the call that adds them, before they are decoded, or with a warning while frames
// flow on.
#include <sys/resource.h>

#include "live_templates.hpp"

namespace {

/// Frames pass, with templates or without.
void pass(Finder& finder, const Gray& scene) {
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, scene.width, scene.height);
  GstBuffer* out = finder.pass(make_frame(GST_VIDEO_FORMAT_GRAY8, scene));
  fail_unless(gst_buffer_memcmp(out, 0, scene.pixels.data(), scene.pixels.size()) == 0);
  gst_buffer_unref(out);
}

constexpr char too_many[] = "it has 16x12 pixels, more than the 191 of 'max-template-pixels'";

ELEMENT_TEST(limit_of_each_way_to_add) {
  const Gray scene = texture(96, 64);
  const Gray patch = crop(scene, 41, 23, 16, 12);
  const std::string file = save(patch, "patch.png");
  Finder finder(exact + std::string("enable-capture=true max-template-pixels=191"));
  pass(finder, scene);
  assert_equals_int(add(finder, sample_of(patch)), 0);
  assert_warned(finder, too_many);
  g_object_set(finder.element, "template-sample", sample_of(patch).get(), nullptr);
  assert_warned(finder, too_many);
  assert_equals_int(capture(finder, 41, 23, 16, 12), 0);
  assert_warned(finder, too_many);
  assert_equals_int(add_file(finder, file), 0);
  assert_warned(finder, too_many, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ);
  finder.set("template", file);
  assert_warned(finder, too_many, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ);
  assert_text(finder.get("template"), "");
  pass(finder, scene);

  finder.set("max-template-pixels", "192");
  fail_unless(add_file(finder, file) != 0);
  fail_unless(add(finder, sample_of(patch)) != 0);
  fail_unless(capture(finder, 41, 23, 16, 12) != 0);
  finder.set("max-template-pixels", "1");  // those that are there stay
  assert_equals_int(finder.find(scene).peaks.size(), 3);
}

ELEMENT_TEST(limit_at_start) {
  const std::string text = refused_at_start(
      {{"max-template-pixels", "191"}, {"template", save(texture(16, 12), "patch.png")}},
      GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ);
  fail_unless(text.find(too_many) != text.npos, "'%s'", text.c_str());
}

/// The default is what the library can do.
ELEMENT_TEST(limit_of_the_library) {
  Finder finder("enable-capture=true");
  assert_text(finder.get("max-template-pixels"), "11900000");
  const Gray scene = texture(64, 48);
  pass(finder, scene);
  assert_equals_int(add(finder, sample_of(Gray(4000, 2976, 1)), "huge"), 0);
  assert_warned(finder, "4000x2976 pixels, more than the 11900000 of");
  pass(finder, scene);
  fail_unless(add(finder, sample_of(Gray(4000, 2975, 1)), "large") != 0);
  pass(finder, scene);  // larger than the frame
}

std::string big_endian(std::uint32_t number) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(number >> shift & 0xff);
  return text;
}

/// PNG of no pixels, although the header has a size. The checksums are of these very chunks.
std::string head_of_png() {
  using namespace std::string_literals;
  const std::string bytes = "\x89PNG\r\n\x1a\n" + big_endian(13) + "IHDR" + big_endian(16384) +
                            big_endian(16384) + "\x8\x6\0\0\0"s + big_endian(0xa9c81084) +
                            big_endian(8) + "IDAT\x78\x9c\3\0\0\0\0\1"s + big_endian(0x480689d2) +
                            big_endian(0) + "IEND" + big_endian(0xae426082);
  write_file(temporary("head.png"), bytes);
  return temporary("head.png");
}

std::string head_of_pgm() {
  write_file(temporary("head.pgm"), "P5\n16384 16384\n255\n" + std::string(1000, '\0'));
  return temporary("head.pgm");
}

/// Largest so far, in KiB.
long memory_of_this_process() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

ELEMENT_TEST(limit_before_decoding) {
  const Gray scene = texture(64, 48);
  Finder finder("enable-capture=true");
  pass(finder, scene);
  add_file(finder, save(texture(16, 12), "patch.png"));  // loads the plugins
  const long before = memory_of_this_process();
  for (const std::string& file : {head_of_png(), head_of_pgm()}) {
    assert_equals_int(add_file(finder, file), 0);
    assert_warned(finder, "it has 16384x16384 pixels", GST_RESOURCE_ERROR,
                  GST_RESOURCE_ERROR_OPEN_READ);
    pass(finder, scene);
  }
  const long taken = memory_of_this_process() - before;
  fail_unless(taken < 50'000, "%ld KiB were taken", taken);
}

/// What fails late ends nothing either: here a kernel that there is not.
ELEMENT_TEST(templates_that_cannot_be_searched_for) {
  const Gray scene = texture(96, 64);
  const Gray patch = crop(scene, 41, 23, 16, 12);
  Finder finder(exact + std::string("enable-capture=true"));
  pass(finder, scene);
  finder.set("kernel", "none");
  pass(finder, scene);
  const guint id = add(finder, sample_of(patch));
  fail_unless(id != 0);
  pass(finder, scene);
  assert_warned(finder, "kernel 'none'");
  fail_unless(!remove(finder, id), "it is still there");
  assert_warned(finder, "There is no template");
  pass(finder, scene);

  finder.set("kernel", "auto");
  fail_unless(add(finder, sample_of(patch)) != 0);
  assert_at(finder.find(scene).peaks.at(0), 41, 23);
}

/// Nor does it bring back what had been removed.
ELEMENT_TEST(removed_templates_stay_away) {
  const Gray scene = texture(96, 64);
  const Gray patch = crop(scene, 41, 23, 16, 12);
  Finder finder(exact + std::string("enable-capture=true"));
  const guint first = add(finder, sample_of(patch));
  assert_equals_int(finder.find(scene).peaks.size(), 1);
  fail_unless(remove(finder, first));
  finder.set("kernel", "none");
  pass(finder, scene);
  fail_unless(add(finder, sample_of(patch)) != 0);
  pass(finder, scene);
  assert_warned(finder, "kernel 'none'");
  fail_unless(!remove(finder, first), "it is there again");
}

ELEMENT_TEST(removed_templates_stay_away_from_others) {
  const Gray scene = texture(96, 64);
  Finder finder(exact);
  const guint first = add(finder, sample_of(crop(scene, 8, 9, 16, 12)));
  const guint second = add(finder, sample_of(crop(scene, 41, 23, 16, 12)));
  assert_equals_int(finder.find(scene).peaks.size(), 2);
  fail_unless(remove(finder, first));
  finder.set("kernel", "none");
  const auto peaks = finder.find(scene).peaks;
  assert_warned(finder, "kernel 'none'");
  assert_equals_int(peaks.size(), 1);
  assert_at(peaks[0], 41, 23);
  fail_unless(!remove(finder, first), "it is there again");
  fail_unless(remove(finder, second), "it is gone, too");
}

}  // namespace
