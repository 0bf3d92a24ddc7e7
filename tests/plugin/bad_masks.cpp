// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Masks that cannot be: an error at the start; while playing a warning that names what is wrong,
// and templates, masks and properties stay as they were.
#include "masked_images.hpp"

namespace {

const std::string search = "subpixel=false threshold=0.3 ";

std::string text_file() {
  write_file(temporary("text.png"), "This is not an image.\n");
  return temporary("text.png");
}
std::string missing() { return temporary("missing.png"); }
std::string too_large() { return save(Gray(RoundPart::size + 1, RoundPart::size, 1), "large.png"); }
std::string black() { return save(Gray(RoundPart::size, RoundPart::size), "black.png"); }
std::string transparent() {
  const Gray zero(RoundPart::size, RoundPart::size), white(RoundPart::size, RoundPart::size, 255);
  return save(white, zero, "transparent.png");
}
/// All but one pixel count for nothing.
std::string one_pixel() {
  Gray mask(RoundPart::size, RoundPart::size);
  mask.at(9, 9) = 255;
  return save(mask, "one.png");
}
/// Of more pixels than the limit below.
std::string huge() { return save(Gray(200, 100, 255), "huge.png"); }

/// A mask file that is refused, and how.
struct BadFile {
  std::string (*make)();
  GQuark (*domain)();
  int code;
  const char* text;
};

constexpr BadFile bad_files[] = {
    {text_file, gst_resource_error_quark, GST_RESOURCE_ERROR_OPEN_READ,
     "Cannot read the mask file"},
    {missing, gst_resource_error_quark, GST_RESOURCE_ERROR_OPEN_READ, "Cannot read the mask file"},
    {huge, gst_resource_error_quark, GST_RESOURCE_ERROR_OPEN_READ,
     "200x100 pixels, more than the 9000 of 'max-template-pixels'"},
    {too_large, gst_library_error_quark, GST_LIBRARY_ERROR_SETTINGS,
     "has 25x24 pixels, the template 24x24"},
    {black, gst_library_error_quark, GST_LIBRARY_ERROR_SETTINGS, "leaves no pixel of it"},
    {transparent, gst_library_error_quark, GST_LIBRARY_ERROR_SETTINGS, "leaves no pixel of it"},
    {one_pixel, gst_library_error_quark, GST_LIBRARY_ERROR_SETTINGS, "leaves a flat part of it"},
};

/// The old mask is in force.
void assert_goes_on(Finder& finder, const RoundPart& scene) {
  assert_found_at(only(finder.find(scene.frame())), scene.x, scene.y);
  fail_unless(finder.message(GST_MESSAGE_ERROR) == nullptr);
  fail_unless(finder.message(GST_MESSAGE_WARNING) == nullptr);
}

ELEMENT_TESTS(bad_file_at_start, 0, G_N_ELEMENTS(bad_files)) {
  const BadFile& bad = bad_files[__i__];
  const RoundPart scene;
  const std::string file = bad.make();
  const std::string text = refused_at_start({{"template", save(scene.cut, "part.png")},
                                             {"mask-file", file},
                                             {"max-template-pixels", "9000"}},
                                            bad.domain(), bad.code);
  assert_contains(text, file);
  assert_contains(text, bad.text);
}

ELEMENT_TESTS(bad_file_while_playing, 0, G_N_ELEMENTS(bad_files)) {
  const BadFile& bad = bad_files[__i__];
  const RoundPart scene;
  const std::string good = save(scene.disc, "good.png"), file = bad.make();
  for (const std::string& before : {"mask-file=" + good, std::string("mask=disc")}) {
    Finder finder(search + before +
                  " max-template-pixels=9000 template=" + save(scene.cut, "part.png"));
    assert_goes_on(finder, scene);
    const std::string was = finder.get("mask-file");
    finder.set("mask-file", file);
    const std::string text = text_of(finder.message(GST_MESSAGE_WARNING), bad.domain(), bad.code);
    assert_contains(text, file);
    assert_contains(text, bad.text);
    assert_text(finder.get("mask-file"), was);
    assert_goes_on(finder, scene);
  }
}

ELEMENT_TEST(a_disc_of_nothing) {
  const RoundPart scene;
  Finder finder(search + "mask=disc template=" + save(scene.cut, "part.png"));
  assert_goes_on(finder, scene);
  for (const auto& [inset, text] :
       {std::pair{"12", "a disc with a 'mask-inset' of 12 leaves no pixel of it"},
        {"2147483647", "a disc with a 'mask-inset' of 2147483647 leaves no pixel of it"}}) {
    finder.set("mask-inset", inset);
    assert_warned(finder, text);
    assert_text(finder.get("mask-inset"), "0");
    assert_goes_on(finder, scene);
  }
  finder.set("mask-inset", "9");
  assert_goes_on(finder, scene);
  assert_contains(
      refused_at_start(
          {{"template", save(scene.cut, "part.png")}, {"mask", "disc"}, {"mask-inset", "13"}},
          GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS),
      "part.png': a disc with a 'mask-inset' of 13");
}

/// Of what comes later, each way says why, and what is there stays.
ELEMENT_TEST(templates_that_cannot_be_masked) {
  const RoundPart scene;
  Finder finder(search + "enable-capture=true mask=disc mask-inset=6 template=" +
                save(scene.cut, "part.png"));
  assert_goes_on(finder, scene);
  constexpr char nothing[] = "a disc with a 'mask-inset' of 6 leaves no pixel of it";
  const Gray small = texture(12, 12);
  const std::string file = save(small, "small.png");
  assert_equals_int(add(finder, sample_of(small), "new"), 0);
  assert_warned(finder, nothing);
  assert_equals_int(add_file(finder, file), 0);
  assert_warned(finder, nothing);
  assert_equals_int(capture(finder, 5, 5, 12, 12), 0);
  assert_warned(finder, nothing);
  for (const auto& [property, value] :
       {std::pair{"template", file}, {"templates", array_of({file})}}) {
    const std::string before = finder.get(property);
    finder.set(property, value);
    assert_warned(finder, nothing);
    assert_text(finder.get(property), before);
  }
  g_object_set(finder.element, "template-sample", sample_of(small).get(), nullptr);
  assert_warned(finder, nothing);
  assert_goes_on(finder, scene);

  finder.set("mask-file", save(scene.disc, "mask.png"));
  finder.set("template", file);
  assert_warned(finder, "mask.png' has 24x24 pixels, the template 12x12");
  assert_goes_on(finder, scene);
  fail_unless(add(finder, sample_of(scene.cut)) != 0);
}

ELEMENT_TEST(transparent_templates) {
  const RoundPart scene;
  Finder finder(search + "template=" + save(scene.cut, scene.disc, "part.png"));
  assert_goes_on(finder, scene);
  assert_equals_int(add_file(finder, transparent()), 0);
  assert_warned(finder, "transparent.png': its alpha leaves no pixel of it");
  assert_goes_on(finder, scene);
  const std::string text = refused_at_start({{"template", transparent()}}, GST_LIBRARY_ERROR,
                                            GST_LIBRARY_ERROR_SETTINGS);
  assert_contains(text, "transparent.png': its alpha leaves no pixel of it");
}

/// A white disc on black.
ELEMENT_TEST(masks_that_take_all_contrast) {
  const Gray disc = disc_of(20, 20);
  const std::string file = save(disc, disc, "white.png");
  Gray frame = texture(64, 48);
  paste(frame, disc, disc, 20, 10);
  Finder finder("threshold=0.9 subpixel=false mask=none template=" + file);
  finder.find(frame);
  const auto refuse = [&](const char* text) {
    assert_warned(finder, text);
    assert_text(finder.get("mask"), "none");
    finder.find(frame);
    fail_unless(finder.message(GST_MESSAGE_WARNING) == nullptr);
  };
  finder.set("mask", "alpha");
  refuse("its alpha leaves a flat part of it, without contrast that the method 'ccoeff-normed'");
  finder.set("mask-inset", "3");
  finder.set("mask", "disc");
  refuse("a disc with a 'mask-inset' of 3 leaves a flat part of it");

  // Other methods need no contrast; those that do tell when they are chosen.
  finder.set("method", "sqdiff-normed");
  finder.set("mask", "alpha");
  const Peak peak = only(finder.find(frame));
  assert_at(peak, 20, 10);
  fail_unless(peak.score == 0);
  finder.set("method", "ccoeff");
  finder.find(frame);
  assert_warned(finder, "white.png', where its mask counts, is flat: it has no contrast",
                GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED);
}

/// What has been accepted is not asked again when others come.
ELEMENT_TEST(masks_that_are_there_stay) {
  const Gray disc = disc_of(20, 20), frame = texture(64, 48);
  const auto rgba = GST_VIDEO_FORMAT_RGBA;
  for (const bool stopped : {false, true}) {
    Finder finder("threshold=0.9 subpixel=false method=sqdiff-normed");
    if (stopped) gst_element_set_state(finder.harness->element, GST_STATE_NULL);
    fail_unless(add(finder, make_sample(make_frame(rgba, disc, disc), rgba, 20, 20)) != 0);
    gst_element_set_state(finder.harness->element, GST_STATE_PLAYING);
    finder.set("method", "ccoeff-normed");
    fail_unless(add(finder, sample_of(crop(frame, 9, 9, 16, 12))) != 0);
    finder.set_format(GST_VIDEO_FORMAT_GRAY8, 64, 48);
    assert_found_at(only(finder.find(frame)), 9, 9);
  }
}

/// A flat template is told of as it is without a mask.
ELEMENT_TEST(flat_templates_are_not_the_masks_fault) {
  const Gray frame = texture(64, 48);
  Finder finder("threshold=0.1 template=" + save(Gray(16, 16, 90), "flat.png"));
  finder.find(frame);
  text_of(finder.message(GST_MESSAGE_WARNING), GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED);
  finder.set("mask", "disc");
  finder.find(frame);
  assert_warned(finder, "flat.png', where its mask counts, is flat", GST_STREAM_ERROR,
                GST_STREAM_ERROR_FAILED);
  assert_text(finder.get("mask"), "disc");
}

/// What the library refuses with the next frame takes the mask along, and nothing else.
ELEMENT_TEST(masks_return_with_the_templates) {
  const RoundPart scene;
  Finder finder(search + "mask=disc");
  const guint id = add(finder, sample_of(scene.cut));
  assert_goes_on(finder, scene);
  finder.set("mask", "alpha");
  finder.set("mask-inset", "4");
  finder.set("kernel", "none");
  assert_found_at(only(finder.find(scene.frame())), scene.x, scene.y);
  assert_warned(finder, "kernel 'none'");
  assert_text(finder.get("mask"), "disc");
  assert_text(finder.get("mask-inset"), "0");
  fail_unless(remove(finder, id), "it has gone");
}

}  // namespace
