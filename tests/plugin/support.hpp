// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the tests of the element share: pictures made here, frames of every format, template files
// written by GStreamer, and Finder, which sends frames through the element and gives what it found.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>
#include <gst/video/video.h>

#include <gstcudaxcorrmeta.h>

/// What the element takes.
inline constexpr GstVideoFormat all_formats[] = {
    GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_NV12, GST_VIDEO_FORMAT_NV21, GST_VIDEO_FORMAT_I420,
    GST_VIDEO_FORMAT_YV12,  GST_VIDEO_FORMAT_Y42B, GST_VIDEO_FORMAT_Y444, GST_VIDEO_FORMAT_YUY2,
    GST_VIDEO_FORMAT_UYVY,  GST_VIDEO_FORMAT_RGB,  GST_VIDEO_FORMAT_BGR,  GST_VIDEO_FORMAT_RGBx,
    GST_VIDEO_FORMAT_xRGB,  GST_VIDEO_FORMAT_BGRx, GST_VIDEO_FORMAT_xBGR, GST_VIDEO_FORMAT_RGBA,
    GST_VIDEO_FORMAT_ARGB,  GST_VIDEO_FORMAT_BGRA, GST_VIDEO_FORMAT_ABGR};

/// An 8-bit gray picture, or one plane of a colour picture.
struct Gray {
  int width = 0, height = 0;
  std::vector<std::uint8_t> pixels;

  Gray(int w, int h, std::uint8_t value = 0)
      : width(w), height(h), pixels(static_cast<std::size_t>(w) * h, value) {}
  std::uint8_t& at(int x, int y) { return pixels[static_cast<std::size_t>(y) * width + x]; }
  std::uint8_t at(int x, int y) const { return pixels[static_cast<std::size_t>(y) * width + x]; }
};

/// Smooth random texture in which no place is like another.
Gray texture(int width, int height, unsigned seed = 1);
Gray crop(const Gray& from, int x, int y, int width, int height);
void paste(Gray& onto, const Gray& picture, int x, int y);

/// The backend under test: XCORR_TEST_BACKEND, or cpu.
const char* backend();

/// A path in this process's own directory, which is removed at the end.
std::string temporary(const std::string& name);
/// Writes a template file; the extension (png, jpg, bmp) says how. Gives its path.
std::string save(const Gray& picture, const std::string& name);
std::string save(const Gray& red, const Gray& green, const Gray& blue, const std::string& name);
/// The value of a property that is an array of strings.
std::string array_of(const std::vector<std::string>& items);
void write_file(const std::string& path, const std::string& bytes);
std::string read_file(const std::string& path);

/// A frame whose luma is the picture and which has no colour. Rows are `padding` bytes longer than
/// they need be, and the first does not begin at the buffer's start.
GstBuffer* make_frame(GstVideoFormat format, const Gray& picture, int padding = 0);
/// A frame of a packed RGB format.
GstBuffer* make_frame(GstVideoFormat format, const Gray& red, const Gray& green, const Gray& blue);

struct Peak : GstCudaXCorrPeak {
  std::string label, state;
};

struct Found {
  bool analysed = false;
  std::vector<Peak> peaks;
};

/// What the buffer's meta says; fails the test when it has none.
Found found_in(GstBuffer* buffer);

/// Like assert_equals_string, which would read a temporary string after its end.
void assert_text(const std::string& text, const std::string& expected);

void assert_at(const Peak& peak, double x, double y, double tolerance = 0);

/// The element in a harness. `rest` continues the launch line after `cudaxcorr backend=...`.
class Finder {
 public:
  explicit Finder(const std::string& rest);
  ~Finder();
  Finder(const Finder&) = delete;

  /// Frames of that format and size follow.
  void set_format(GstVideoFormat format, int width, int height);

  /// Sends a buffer, which it takes, and gives the one that comes out (the caller's).
  GstBuffer* pass(GstBuffer* buffer);
  /// Sends the picture as a frame of the format set, GRAY8 by default, and reads the meta.
  Found find(const Gray& picture);
  Found find(GstBuffer* buffer);

  /// As in a launch line.
  void set(const char* property, const std::string& value);
  std::string get(const char* property);

  /// The next message of those types, or null when there is none. The caller's.
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

/// The text of an error or a warning; checks its domain and code, and takes the message.
std::string text_of(GstMessage* message, GQuark domain, int code);

/// Starts the element, which it takes. Expects that it does not start, with this one error, and
/// gives the error's text.
std::string refused_at_start(GstElement* element, GQuark domain, int code);
/// The same of a cudaxcorr with these properties, as in a launch line.
std::string refused_at_start(std::initializer_list<std::pair<const char*, std::string>> properties,
                             GQuark domain, int code);

/// A file of tests: its cases.
Suite* suite();
