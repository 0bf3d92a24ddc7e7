// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The property `templates-dir`: the images of a folder and what `templates.yaml` says of them,
// while files come, change and go.
#include <algorithm>
#include <filesystem>
#include <thread>

#include "support.hpp"

namespace {

namespace fs = std::filesystem;

constexpr int frame_width = 160, frame_height = 120;

/// Times 20 ms: how long a busy machine may take to tell of a change.
constexpr int patience = 500;

/// A folder and a scene of which the images are parts.
struct Folder {
  Gray scene = texture(frame_width, frame_height);
  fs::path path = temporary("templates");

  Folder() {
    fs::remove_all(path);
    fs::create_directory(path);
  }
  /// Under a name that is none of an image first, as programs that save with care do it.
  void add(const std::string& name, int x, int y, int width = 20, int height = 16) const {
    const std::string made = save(crop(scene, x, y, width, height), "made.png");
    fs::rename(made, path / (name + ".part"));
    fs::rename(path / (name + ".part"), path / name);
  }
  void write(const std::string& name, const std::string& text) const {
    write_file((path / name).string(), text);
  }
};

/// An element that searches the folder. Its warnings may come later than what they are about.
class Watching : public Finder {
 public:
  explicit Watching(const Folder& folder, const std::string& rest = "")
      : Finder("threshold=0.9 subpixel=none " + rest), scene_(folder.scene) {
    set("templates-dir", folder.path.string());
    set_format(GST_VIDEO_FORMAT_GRAY8, frame_width, frame_height);
  }

  /// Such as "a 10,20 b 30,40".
  std::string found() {
    std::string text;
    GstBuffer* out = pass(make_frame(GST_VIDEO_FORMAT_GRAY8, scene_));
    const bool searched = gst_cuda_xcorr_get_result(out) != nullptr;
    for (const Peak& peak : searched ? found_in(out).peaks : std::vector<Peak>())
      text += (text.empty() ? "" : " ") + peak.label + ' ' + std::to_string(std::lround(peak.x)) +
              ',' + std::to_string(std::lround(peak.y));
    gst_buffer_unref(out);
    return text;
  }
  /// Once a change of the folder has been taken over.
  void assert_found(const std::string& expected) {
    std::string last;
    for (int i = 0; i < patience && (last = found()) != expected; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    assert_text(last, expected);
  }
  void assert_warning(GQuark domain, int code, const std::string& part) {
    GstMessage* warning = nullptr;
    for (int i = 0; i < patience && !(warning = message(GST_MESSAGE_WARNING)); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const std::string text = text_of(warning, domain, code);
    fail_unless(text.find(part) != std::string::npos, "%s", text.c_str());
  }
  void assert_no_warning() {
    GstMessage* warning = message(GST_MESSAGE_WARNING);
    if (warning) {
      GError* error = nullptr;
      gst_message_parse_warning(warning, &error, nullptr);
      fail("%s", error->message);
    }
  }

 private:
  Gray scene_;
};

ELEMENT_TEST(labels_are_the_names_of_images) {
  const Folder folder;
  folder.add("b one.png", 10, 20);
  folder.add("a.PNG", 60, 30, 12, 12);
  folder.add(".hidden.png", 5, 5);
  folder.write("notes.txt", "nothing to see");
  folder.write("Thumbs.db", "\x1\x2");
  fs::create_directory(folder.path / "more");
  Watching element(folder);
  assert_text(element.found(), "a 60,30 b one 10,20");
  element.assert_no_warning();
  assert_text(element.get("templates-dir"), folder.path.string());
}

ELEMENT_TEST(rules_of_single_templates) {
  Folder folder;
  folder.add("a.png", 10, 20);
  folder.add("b.png", 60, 30);
  folder.add("c.png", 100, 80);
  paste(folder.scene, crop(folder.scene, 10, 20, 20, 16), 130, 5);  // a is there twice
  for (int y = 82; y < 88; ++y)                                     // c is no exact copy any more
    for (int x = 102; x < 116; ++x) folder.scene.at(x, y) ^= 0x30;
  folder.write("templates.yaml",
               "# Of single templates\n"
               "a: {region: [120, 0, 40, 30]}\n"
               "b:\n  label: \"B & <b>\"\n  threshold: 0.99\n");
  Watching element(folder, "max-peaks=5");
  assert_text(element.found(), "a 130,5 B & <b> 60,30");
  folder.write("templates.yaml", "a: {region: [0, 0, 60, 60]}\nc: {threshold: 0.6}\n");
  element.assert_found("a 10,20 b 60,30 c 100,80");
  fs::remove(folder.path / "templates.yaml");
  element.assert_found("a 130,5 a 10,20 b 60,30");
  element.assert_no_warning();
}

/// With regions only, there is no search of whole frames.
ELEMENT_TEST(regions_of_all_templates) {
  const Folder folder;
  folder.add("a.png", 10, 20);
  folder.add("b.png", 60, 30);
  folder.write("templates.yaml",
               "a: {region: [10, 20, 20, 16]}\nb: {region: [50, 30, 1000, 1000]}\n");
  for (const char* rest : {"", "async-depth=1 best-template=true", "track=true tracker=template"}) {
    Watching element(folder, rest);
    assert_text(element.found(), "a 10,20 b 60,30");
    const Found again = element.find(folder.scene);
    assert_equals_int(again.peaks.size(), 2);
  }
  folder.write("templates.yaml", "a: {region: [11, 20, 20, 16]}\nb: {region: [700, 0, 50, 50]}\n");
  Watching element(folder);
  assert_text(element.found(), "");
  element.assert_warning(GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED,
                         "cannot match: its search region begins at 700,0");
}

ELEMENT_TEST(files_come_change_and_go) {
  const Folder folder;
  folder.add("a.png", 10, 20);
  Watching element(folder);
  element.assert_found("a 10,20");
  const guint id = element.find(folder.scene).peaks[0].template_id;
  folder.add("b.png", 60, 30);
  element.assert_found("a 10,20 b 60,30");
  assert_equals_int(element.find(folder.scene).peaks[0].template_id, id);
  folder.add("a.png", 100, 80);
  element.assert_found("a 100,80 b 60,30");
  assert_equals_int(element.find(folder.scene).peaks[0].template_id, id);
  fs::remove(folder.path / "b.png");
  element.assert_found("a 100,80");
  fs::remove(folder.path / "a.png");
  element.assert_found("");
  folder.add("a.png", 10, 20);
  element.assert_found("a 10,20");
}

ELEMENT_TEST(folders_without_images) {
  const Folder folder;
  Watching element(folder);
  assert_text(element.found(), "");
  element.assert_warning(GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
                         "There is no template in the folder '" + folder.path.string() + "'");
  folder.add("a.png", 10, 20);
  element.assert_found("a 10,20");
}

ELEMENT_TEST(bad_files_leave_what_there_was) {
  const Folder folder;
  folder.add("a.png", 10, 20);
  folder.write("bad.png", "no image");
  folder.write("templates.yaml", "a: {label: first}\n");
  Watching element(folder);
  assert_text(element.found(), "first 10,20");
  element.assert_warning(GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ, "bad.png");
  fs::remove(folder.path / "bad.png");
  folder.write("a.png", "damaged");
  element.assert_warning(GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ, "a.png");
  assert_text(element.found(), "first 10,20");
  folder.add("a.png", 60, 30);
  element.assert_found("first 60,30");
  folder.write("templates.yaml", "a: {treshold: 0.5}\n");
  element.assert_warning(GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ,
                         "line 1: a template has no setting 'treshold'");
  assert_text(element.found(), "first 60,30");
  folder.write("templates.yaml", "a: {label: second}\nz: {label: third}\n");
  element.assert_found("second 60,30");
  element.assert_warning(GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
                         "'z', of which there is no image");
  const Gray clear(20, 16, 0);
  fs::rename(save(clear, clear, "clear.png"), folder.path / "clear.png");
  element.assert_warning(GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS, "clear.png");
  element.assert_found("second 60,30");
}

ELEMENT_TEST(texts_that_are_no_rules) {
  std::string anchors;
  for (int i = 0; i < 5000; ++i) anchors += "- &a" + std::to_string(i) + " x\n";
  const std::pair<std::string, const char*> texts[] = {
      {"a: [", "line 2: "},
      // libyaml takes time by the squares of these.
      {"a: " + std::string(100000, '['), "line 1: lists or names are too deep inside each other"},
      {anchors, "line 4097: there are too many anchors"},
      {"a: {label: \"\\x\"}", "line 1: "},
      {"- a\n", "line 1: there must be names of templates"},
      {"a: 0.9\n", "line 1: there must be settings of a template"},
      {"\na:\n  threshold: much\n", "line 3: a 'threshold' is a number from -1 to 1"},
      {"a: {threshold: 1.5}", "a 'threshold' is"},
      {"a: {threshold: nan}", "a 'threshold' is"},
      {"a: {threshold: '0.5'}", "a 'threshold' is"},
      {"a: {region: [1, 2, 3]}", "a 'region' is [x, y, width, height]"},
      {"a: {region: [1, 2, 3, 0]}", "a 'region' is"},
      {"a: {region: [1, -2, 3, 4]}", "a 'region' is"},
      {"a: {region: [1, 2, 3, 4.5]}", "a 'region' is"},
      {"a: {region: 5}", "a 'region' is"},
      {"a: {label: ''}", "a 'label' is a text of 1 to 256 bytes"},
      {"a: {label: \"x\\0y\"}", "a 'label' is"},
      {"a: {label: [x]}", "a 'label' is"},
      {"a: {label: x}\na: {label: y}\n", "line 2: 'a' is there twice"},
      {"a: {label: x, label: y}\n", "'label' is there twice"},
      {"[a]: {label: x}\n", "a name must be a text"},
      {"a: {label: x}\n---\na: {label: y}\n", "there must be one document"},
      {"a: {label: x}\n---\n[\n", "line "},
      {"a: &x {label: *x}\n", "a 'label' is"},
  };
  const Folder folder;
  folder.add("a.png", 10, 20);
  for (const auto& [text, reason] : texts) {
    folder.write("templates.yaml", text);
    Watching element(folder);
    assert_text(element.found(), "a 10,20");
    element.assert_warning(GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ, reason);
  }
  for (const char* text : {"", "# nothing\n", "{}", "a: {}\n",
                           "\xEF\xBB\xBF"
                           "a: {threshold: 1e-1}"}) {
    folder.write("templates.yaml", text);
    Watching element(folder);
    assert_text(element.found(), "a 10,20");
    if (*text) element.assert_no_warning();
  }
  folder.write("templates.yaml", std::string(600 << 10, '#'));
  Watching element(folder);
  assert_text(element.found(), "a 10,20");
  element.assert_warning(GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ, "512 KiB");
}

ELEMENT_TEST(folders_that_cannot_be_read) {
  const std::string missing = temporary("no such folder");
  const std::string text = refused_at_start({{"templates-dir", missing}}, GST_RESOURCE_ERROR,
                                            GST_RESOURCE_ERROR_OPEN_READ);
  fail_unless(text.find(missing) != std::string::npos, "%s", text.c_str());
  const Folder folder;
  folder.add("a.png", 10, 20);
  Watching element(folder);
  assert_text(element.found(), "a 10,20");
  element.set("templates-dir", missing);
  element.assert_warning(GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ, missing);
  assert_text(element.get("templates-dir"), folder.path.string());
  folder.add("b.png", 60, 30);
  element.assert_found("a 10,20 b 60,30");
  fs::remove_all(folder.path);
  element.assert_warning(GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ, folder.path.string());
  assert_text(element.found(), "a 10,20 b 60,30");
  element.set("templates-dir", "");
  assert_text(element.found(), "");
}

}  // namespace
