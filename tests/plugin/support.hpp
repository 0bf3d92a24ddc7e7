// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Shared by the tests of the elements: synthetic images, frames of every format, template files
// written by GStreamer, and Finder, which sends frames through the element and returns what it
// found.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <matching/formats.h>  // before gstcheck.h, whose macros would spoil what it includes

#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>
#include <gst/video/video.h>

#include <gstcudaxcorrmeta.h>

/// The formats of 8 bits that the element takes.
inline constexpr auto all_formats = cudaxcorr::formats_that<cudaxcorr::is_of_8_bits>();

using Seconds = std::chrono::duration<double>;

Seconds time_of(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::steady_clock::now() - begin;
}

/// An 8-bit gray image, or one plane of a colour image.
struct Gray {
  int width = 0, height = 0;
  std::vector<std::uint8_t> pixels;

  Gray(int w, int h, std::uint8_t value = 0)
      : width(w), height(h), pixels(static_cast<std::size_t>(w) * h, value) {}
  std::uint8_t& at(int x, int y) { return pixels[static_cast<std::size_t>(y) * width + x]; }
  std::uint8_t at(int x, int y) const { return pixels[static_cast<std::size_t>(y) * width + x]; }
};

/// A smooth random texture in which every place is different.
Gray texture(int width, int height, unsigned seed = 1);
Gray crop(const Gray& from, int x, int y, int width, int height);
void paste(Gray& onto, const Gray& image, int x, int y);

/// The backend under test: XCORR_TEST_BACKEND, or cpu.
const char* backend();

/// A path in a directory of this process, which is removed at the end.
std::string temporary(const std::string& name);
/// Writes a template file in the format of the extension (png, jpg, bmp). Returns its path.
std::string save(const Gray& image, const std::string& name);
std::string save(const Gray& red, const Gray& green, const Gray& blue, const std::string& name);
/// A PNG file with an alpha channel.
std::string save(const Gray& image, const Gray& alpha, const std::string& name);
/// The value of a property that is an array of strings.
std::string array_of(const std::vector<std::string>& items);
void write_file(const std::string& path, const std::string& bytes);
std::string read_file(const std::string& path);

/// A frame with the image as its luma, and no colour. Rows have `padding` extra bytes, and then
/// the first does not begin at the buffer's start; not for more than 8 bits.
GstBuffer* make_frame(GstVideoFormat format, const Gray& image, int padding = 0);
/// A frame of a packed RGB format.
GstBuffer* make_frame(GstVideoFormat format, const Gray& red, const Gray& green, const Gray& blue);
/// An image without colour in a format with alpha, of any depth.
GstBuffer* make_frame(GstVideoFormat format, const Gray& image, const Gray& alpha);

/// A segment in time, from 0 on.
GstEvent* new_segment();

struct Peak : GstCudaXCorrPeak {
  std::string label, sample, state;
};

struct Found {
  bool analysed = false;
  std::vector<Peak> peaks;
};

/// Peaks that claim a place.
std::vector<Peak> claims(const Found& found);

/// The contents of the buffer's meta; fails the test if there is none.
Found found_in(GstBuffer* buffer);

/// Like assert_equals_string, which would use a temporary string after its lifetime.
void assert_text(const std::string& text, const std::string& expected);
void assert_contains(const std::string& text, const std::string& part);

void assert_at(const Peak& peak, double x, double y, double tolerance = 0);

/// A launch line in a harness; fails the test if it cannot be made. With XCORR_TEST_BACKEND=cuda
/// its elements work in one CUDA context of the program, since a new one takes longer than most
/// tests.
GstHarness* harness_of(const std::string& launch);
/// From now on harnesses work in this started element's CUDA context, if it has one, or with null
/// in contexts of their own.
void share_context_of(GstElement* element);

/// An element in a harness. `rest` continues the launch line after `cudaxcorr backend=...`.
class Finder {
 public:
  explicit Finder(const std::string& rest, const char* factory = "cudaxcorr");
  ~Finder();
  Finder(const Finder&) = delete;

  /// The format and size of the frames that follow.
  void set_format(GstVideoFormat format, int width, int height);

  /// Sends a buffer, taking ownership, and returns the one that comes out, owned by the caller.
  GstBuffer* pass(GstBuffer* buffer);
  /// Sends the image as a frame in the format that was set, GRAY8 by default, and reads the meta.
  Found find(const Gray& image);
  Found find(GstBuffer* buffer);

  /// As in a launch line.
  void set(const char* property, const std::string& value);
  std::string get(const char* property);

  /// The next message of those types, owned by the caller, or null.
  GstMessage* message(GstMessageType types);

  GstHarness* harness;
  GstElement* element;

 private:
  GstBus* bus_;
  GstVideoFormat format_ = GST_VIDEO_FORMAT_UNKNOWN;
  int width_ = 0, height_ = 0;
};

/// One of the counts in the property `stats`.
guint64 stat_of(GstElement* element, const char* field);

/// The text of an error or a warning. Checks its domain and code, and takes ownership.
std::string text_of(GstMessage* message, GQuark domain, int code);

/// Expects one warning, which says that.
void assert_warned(Finder& finder, const std::string& text, GQuark domain = GST_LIBRARY_ERROR,
                   int code = GST_LIBRARY_ERROR_SETTINGS);

/// Starts the element, taking ownership. Expects it to fail with exactly this error, whose text is
/// returned.
std::string refused_at_start(GstElement* element, GQuark domain, int code);
/// The same for an element with these properties, as in a launch line.
std::string refused_at_start(std::initializer_list<std::pair<const char*, std::string>> properties,
                             GQuark domain, int code, const char* factory = "cudaxcorr");

/// Is called when the suite is made, in the order of the file.
struct Registered {
  explicit Registered(void (*add)(TCase* cases));
};

/// A test: ELEMENT_TEST(name) { ... }. One with bounds runs for each number __i__ in [first, end).
#define ELEMENT_TESTS(name, first, end)                                    \
  void name##_test(int);                                                   \
  GST_START_TEST(name) name##_test(__i__);                                 \
  GST_END_TEST                                                             \
  const Registered name##_registered(                                      \
      [](TCase* cases) { tcase_add_loop_test(cases, name, first, end); }); \
  void name##_test([[maybe_unused]] int __i__)
#define ELEMENT_TEST(name) ELEMENT_TESTS(name, 0, 1)

/// The end of a test's numbers: `count`, or none where `what` the test takes is missing, as it
/// says.
int count_with(bool exists, const char* what, int count = 1);
