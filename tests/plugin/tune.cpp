// SPDX-License-Identifier: LGPL-2.1-or-later
//
// kernel=tune in the element: its result is cached in a file, used the next time and logged;
// stopping does not take long.
#include <future>
#include <mutex>
#include <thread>

#include "support.hpp"

namespace {

/// Collects what the element logs at INFO during its lifetime.
class Log {
 public:
  Log() {
    gst_debug_set_threshold_for_name("cudaxcorr", GST_LEVEL_INFO);
    gst_debug_add_log_function(take, this, nullptr);
  }
  ~Log() { gst_debug_remove_log_function_by_data(this); }

  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  static void take(GstDebugCategory*, GstDebugLevel, const gchar*, const gchar*, gint, GObject*,
                   GstDebugMessage* message, gpointer data) {
    Log& self = *static_cast<Log*>(data);
    const std::lock_guard lock(self.mutex_);
    self.text_ += std::string(gst_debug_message_get(message)) + "\n";
  }

  std::mutex mutex_;
  std::string text_;
};

/// Creates a cache folder. Returns the path of the file expected in it.
std::string use_cache(const std::string& name) {
  const std::string folder = temporary(name);
  g_setenv("XDG_CACHE_HOME", folder.c_str(), TRUE);
  return folder + "/cudaxcorr/tuned-kernels.txt";
}

/// Finds the patch with kernel=tune. Returns the kernel that was used.
std::string kernel_that_finds(const Gray& scene, const std::string& file) {
  Finder finder("kernel=tune subpixel=false template=" + file);
  for (int i = 0; i < 2; ++i) assert_at(finder.find(scene).peaks.at(0), 31, 22);
  assert_text(finder.get("kernel"), "tune");
  fail_unless(finder.message(
                  static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING)) == nullptr);
  GstStructure* stats = nullptr;
  g_object_get(finder.element, "stats", &stats, nullptr);
  const std::string kernel = gst_structure_get_string(stats, "kernel");
  gst_structure_free(stats);
  return kernel;
}

ELEMENT_TEST(measures_once_and_remembers) {
  const std::string file = use_cache("cache");
  const Gray scene = texture(120, 90);
  const std::string patch = save(crop(scene, 31, 22, 16, 12), "patch.png");
  std::string kernel;
  {
    Log log;
    kernel = kernel_that_finds(scene, patch);
    fail_unless(kernel != "tune" && !kernel.empty());
    assert_contains(log.text(), "kernel=tune: 16x12: " + kernel + ",");
    assert_contains(log.text(), "remembered in " + file);
  }
  const std::string answer = "\t" + kernel + "\t";
  std::string text = read_file(file);
  assert_contains(text, answer);

  // The file, changed to another kernel, decides, and is not rewritten.
  const std::string other = kernel == "fft" ? "direct" : "fft";
  const bool has_other = std::string(backend()) == "cpu" || other == "fft";
  const std::string planted = has_other ? other : "overlap_wise";
  text.replace(text.find(answer), answer.size(), "\t" + planted + "\t");
  write_file(file, text);
  Log log;
  assert_text(kernel_that_finds(scene, patch), planted);
  assert_contains(log.text(), "kernel=tune: 16x12: " + planted + ", known from " + file);
  assert_text(read_file(file), text);
}

ELEMENT_TEST(works_without_a_cache_folder) {
  write_file(temporary("plain"), "no folder");
  use_cache("plain");
  const Gray scene = texture(120, 90);
  Log log;
  const std::string kernel =
      kernel_that_finds(scene, save(crop(scene, 31, 22, 16, 12), "patch.png"));
  fail_unless(!kernel.empty());
  assert_contains(log.text(), "not remembered");
}

/// One of the kernels follows the plain definition, which takes many seconds per frame on a CPU.
ELEMENT_TEST(stopping_waits_for_the_time_at_most) {
  if (g_getenv("XCORR_TEST_VALGRIND")) return;  // which has another clock
  use_cache("slow");
  const Gray scene = texture(1400, 1400);
  const std::string large = save(crop(scene, 300, 200, 700, 700), "large.png");
  // The frame that is in work is ended, on whatever machine this is.
  const Seconds frame = time_of([&] { Finder("kernel=fft template=" + large).find(scene); });

  Log log;
  Finder finder("kernel=tune template=" + large);
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, scene.width, scene.height);
  std::promise<void> begun;
  GstPad* pad = gst_element_get_static_pad(finder.element, "sink");
  const auto begin = +[](GstPad*, GstPadProbeInfo*, gpointer promise) {
    static_cast<std::promise<void>*>(promise)->set_value();
    return GST_PAD_PROBE_REMOVE;
  };
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, begin, &begun, nullptr);
  gst_object_unref(pad);
  std::thread stream(
      [&] { gst_harness_push(finder.harness, make_frame(GST_VIDEO_FORMAT_GRAY8, scene)); });
  begun.get_future().wait();
  const Seconds took =
      time_of([&] { gst_element_set_state(finder.harness->element, GST_STATE_NULL); });
  stream.join();
  assert_contains(log.text(), "kernel=tune: 700x700: ");
  // Two seconds of measuring, three for a busy machine.
  fail_unless(took < Seconds(5) + 3 * frame, "%f s, a frame %f s", took.count(), frame.count());
}

}  // namespace
