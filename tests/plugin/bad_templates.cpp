// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Unusable template files: an error that names the file at the start; while playing, a warning, and
// the old templates stay. Templates that cannot match: a single warning.
#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

#include "support.hpp"

namespace {

std::string cut(const std::string& file, std::size_t bytes_left) {
  const std::string path = temporary("cut-" + std::filesystem::path(file).filename().string());
  write_file(path, read_file(file).substr(0, bytes_left));
  return path;
}

std::string written(const char* name, const std::string& bytes) {
  write_file(temporary(name), bytes);
  return temporary(name);
}

std::string missing() { return temporary("missing.png"); }
std::string empty() { return written("empty.png", ""); }
std::string text() { return written("text.png", "This is not an image.\n"); }
std::string noise() {
  const Gray bytes = texture(64, 64);
  return written("noise.png", std::string(bytes.pixels.begin(), bytes.pixels.end()));
}
/// A second of silence, RIFF/WAVE.
std::string sound() {
  using namespace std::string_literals;
  return written("sound.png",
                 "RIFF\x64\x1f\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x40\x1f\0\0"
                 "\1\0\x8\0data\x40\x1f\0\0"s +
                     std::string(8000, '\x80'));
}
std::string directory() {
  std::filesystem::create_directory(temporary("directory.png"));
  return temporary("directory.png");
}
/// Opening it would wait for a writer.
std::string pipe_without_writer() {
  mkfifo(temporary("pipe.png").c_str(), 0600);
  return temporary("pipe.png");
}
/// For root, who can read any file, a missing one instead.
std::string unreadable() {
  const std::string path = written("unreadable.png", "");
  chmod(path.c_str(), 0);
  if (access(path.c_str(), R_OK) == 0) unlink(path.c_str());
  return path;
}
std::string head_of_png() { return cut(save(texture(80, 60), "a.png"), 30); }
std::string half_a_png() { return cut(save(texture(80, 60), "a.png"), 2000); }
std::string head_of_jpeg() { return cut(save(texture(80, 60), "a.jpg"), 300); }
std::string half_a_jpeg() { return cut(save(texture(200, 200), "a.jpg"), 9000); }
std::string half_a_bmp() { return cut(save(texture(80, 60), "a.bmp"), 7000); }
/// The header says 0x0.
std::string bmp_of_no_size() {
  std::string bytes = read_file(save(texture(4, 4), "a.bmp"));
  bytes.replace(18, 8, 8, '\0');
  return written("none.bmp", bytes);
}

std::string (*const bad_files[])() = {
    missing,    empty,       text,       noise,        sound,       directory,  pipe_without_writer,
    unreadable, head_of_png, half_a_png, head_of_jpeg, half_a_jpeg, half_a_bmp, bmp_of_no_size};
constexpr int bad_file_count = G_N_ELEMENTS(bad_files);

/// Expects RESOURCE/OPEN_READ with the file's name.
void assert_refused_at_start(const char* property, const std::string& value,
                             const std::string& file) {
  const std::string text =
      refused_at_start({{property, value}}, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ);
  fail_unless(text.find(file) != text.npos, "%s does not name %s", text.c_str(), file.c_str());
}

ELEMENT_TESTS(bad_template_at_start, 0, bad_file_count) {
  const std::string file = bad_files[__i__]();
  assert_refused_at_start("template", file, file);
}

ELEMENT_TESTS(bad_one_of_templates_at_start, 0, bad_file_count) {
  const std::string file = bad_files[__i__]();
  assert_refused_at_start("templates", array_of({save(texture(9, 9), "good.png"), file}), file);
}

/// What parsers and decoders say of frames in a stream tells nobody that a file is damaged.
ELEMENT_TEST(half_an_image_is_said_to_be_broken) {
  for (const std::string& file : {head_of_png(), half_a_png()}) {
    const std::string text =
        refused_at_start({{"template", file}}, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ);
    // That it is broken says GStreamer's parser of PNG, which need not be installed.
    fail_unless(text.find("not complete") != text.npos, "%s", text.c_str());
  }
}

int count_with_gdkpixbuf() {
  GstRegistry* registry = gst_registry_get();
  return count_with(gst_registry_check_feature_version(registry, "gdkpixbufdec", 1, 0, 0),
                    "gdkpixbufdec");
}

/// GdkPixbuf's decoder does not report truncated BMP files. Its rank depends on the release of
/// GStreamer, so here it is raised above all others.
ELEMENT_TESTS(half_a_bmp_for_a_silent_decoder, 0, count_with_gdkpixbuf()) {
  GstPluginFeature* decoder = gst_registry_lookup_feature(gst_registry_get(), "gdkpixbufdec");
  const guint rank = gst_plugin_feature_get_rank(decoder);
  gst_plugin_feature_set_rank(decoder, G_MAXINT);
  const std::string file = half_a_bmp();
  assert_refused_at_start("template", file, file);
  gst_plugin_feature_set_rank(decoder, rank);
  gst_object_unref(decoder);
}

ELEMENT_TESTS(bad_template_while_playing, 0, bad_file_count) {
  const Gray scene = texture(60, 40);
  const std::string good = save(crop(scene, 9, 9, 16, 12), "good.png");
  const std::string bad = bad_files[__i__]();
  Finder finder("subpixel=false template=" + good);
  finder.find(scene);
  for (const auto& [property, value] :
       {std::pair{"template", bad}, {"templates", array_of({bad})}}) {
    finder.set(property, value);
    assert_warned(finder, bad, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ);
    assert_text(finder.get("template"), good);
    assert_text(finder.get("templates"), "<  >");
    const auto peaks = finder.find(scene).peaks;
    assert_equals_int(peaks.size(), 1);
    assert_at(peaks[0], 9, 9);
  }
}

/// Nothing is read while stopped: the file may appear later.
ELEMENT_TEST(bad_template_between_two_runs) {
  const Gray scene = texture(60, 40);
  Finder finder("template=" + save(crop(scene, 9, 9, 16, 12), "good.png"));
  finder.find(scene);
  gst_element_set_state(finder.harness->element, GST_STATE_READY);
  finder.set("template", missing());
  fail_unless(finder.message(GST_MESSAGE_WARNING) == nullptr);
  assert_text(finder.get("template"), missing());
  assert_equals_int(gst_element_set_state(finder.harness->element, GST_STATE_PAUSED),
                    GST_STATE_CHANGE_FAILURE);
  text_of(finder.message(GST_MESSAGE_ERROR), GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ);
}

/// Three frames give one warning and no match; changes of other settings do not repeat it.
void assert_warned_once_without_match(Finder& finder, const Gray& scene, const std::string& file) {
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, scene.width, scene.height);
  for (int i = 0; i < 3; ++i) {
    GstBuffer* out = finder.pass(make_frame(GST_VIDEO_FORMAT_GRAY8, scene));
    const Found found = found_in(out);
    fail_unless(found.analysed);
    finder.set("max-peaks", std::to_string(2 + i));
    assert_equals_int(found.peaks.size(), 0);
    fail_unless(gst_buffer_memcmp(out, 0, scene.pixels.data(), scene.pixels.size()) == 0);
    gst_buffer_unref(out);
  }
  assert_warned(finder, file, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED);
  fail_unless(finder.message(GST_MESSAGE_ERROR) == nullptr);
}

ELEMENT_TEST(template_larger_than_the_frame) {
  const std::string file = save(texture(80, 10), "wide.png");
  Finder finder("threshold=-1 template=" + file);
  assert_warned_once_without_match(finder, texture(64, 48), file);
}

ELEMENT_TEST(template_larger_than_the_region) {
  const std::string file = save(texture(20, 20), "large.png");
  Finder finder("threshold=-1 search-region=\"<50,30,30,19>\" template=" + file);
  assert_warned_once_without_match(finder, texture(100, 80), file);
}

ELEMENT_TEST(region_outside_the_frame) {
  const std::string file = save(texture(20, 20), "patch.png");
  Finder finder("threshold=-1 search-region=\"<500,300,100,100>\" template=" + file);
  assert_warned_once_without_match(finder, texture(100, 80), file);
}

ELEMENT_TEST(flat_template) {
  const std::string file = save(Gray(16, 16, 90), "flat.png");
  Finder finder("threshold=0.1 template=" + file);
  assert_warned_once_without_match(finder, texture(64, 48), file);
}

/// Matches stop while frames are too small, and return with larger ones.
ELEMENT_TEST(frame_becomes_smaller_than_the_template) {
  const Gray scene = texture(60, 40);
  Finder finder("subpixel=false template=" + save(crop(scene, 9, 9, 32, 24), "patch.png"));
  assert_equals_int(finder.find(scene).peaks.size(), 1);
  assert_equals_int(finder.find(crop(scene, 0, 0, 20, 20)).peaks.size(), 0);
  gst_message_unref(finder.message(GST_MESSAGE_WARNING));
  assert_equals_int(finder.find(scene).peaks.size(), 1);
  fail_unless(finder.message(GST_MESSAGE_WARNING) == nullptr);
}

/// The other templates of the bank still match.
ELEMENT_TEST(one_of_the_bank_is_too_large) {
  const Gray scene = texture(60, 40);
  const std::string good = save(crop(scene, 9, 9, 16, 12), "good.png");
  Finder finder("subpixel=false template=" + save(texture(80, 10), "wide.png"));
  finder.set("templates", array_of({good}));
  const auto peaks = finder.find(scene).peaks;
  assert_equals_int(peaks.size(), 1);
  assert_equals_int(peaks[0].template_index, 1);
  assert_text(peaks[0].label, "good");
  assert_at(peaks[0], 9, 9);
}

}  // namespace
