// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The vocabulary of the library: element types, sizes, views of matrices, and errors as values. No
// function of the library throws, prints or aborts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace xcorr {

// ---- errors ---------------------------------------------------------------------------------

enum class Code : std::uint8_t {
  ok,
  invalid_argument,  ///< the caller's mistake: a null pointer, an empty size, a bad enum
  unsupported,       ///< well formed, but not supported here (an unknown kernel, no backend)
  not_found,         ///< no such device, or no driver for it
  out_of_memory,     ///< host or device memory
  device_error,      ///< CUDA or cuFFT reported an error; the message carries their text
  over_budget,       ///< a frame would cost more than Budget allows; the message has the numbers
  stopped,           ///< as was asked for, see StopScope
};

/// Success, or a code with a sentence that names what failed.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::ok; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  Code code_ = Code::ok;
  std::string message_;
};

/// A value, or the Status that explains why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::move(value)) {}
  Result(Status status) : content_(std::move(status)) {}

  bool ok() const { return std::holds_alternative<T>(content_); }
  /// Call only when ok().
  T& value() { return std::get<T>(content_); }
  const T& value() const { return std::get<T>(content_); }
  Status status() const { return ok() ? Status() : std::get<Status>(content_); }

 private:
  std::variant<Status, T> content_;
};

// ---- matrices -------------------------------------------------------------------------------

enum class ElementType : std::uint8_t { u8, u16, u32, u64, i32, i64, f32, f64 };

constexpr std::size_t size_of(ElementType type) {
  constexpr std::size_t sizes[] = {1, 2, 4, 8, 4, 8, 4, 8};
  return sizes[static_cast<std::uint8_t>(type)];
}

constexpr const char* name_of(ElementType type) {
  constexpr const char* names[] = {"u8", "u16", "u32", "u64", "i32", "i64", "f32", "f64"};
  return names[static_cast<std::uint8_t>(type)];
}

struct Size {
  int width = 0, height = 0;
  constexpr bool operator==(const Size&) const = default;
  constexpr bool empty() const { return width <= 0 || height <= 0; }
  constexpr std::int64_t area() const { return std::int64_t{width} * height; }
};

struct Rect {
  int x = 0, y = 0, width = 0, height = 0;
  constexpr bool operator==(const Rect&) const = default;
  constexpr bool empty() const { return width <= 0 || height <= 0; }
  constexpr Size size() const { return {width, height}; }
};

enum class Memory : std::uint8_t { host, device };

/// The layout of a pixel of an 8-bit image in `bytes` bytes b, 1 to 4. Only its luma is matched,
///   (sum of weights[i] * b[i] + 128) / 256, rounded down.
/// The weights are 0 to 256 and add up to 256, so that gray is unchanged. By default a pixel is one
/// byte, its luma.
struct PixelLayout {
  int bytes = 1;
  int weights[4] = {256};

  constexpr bool operator==(const PixelLayout&) const = default;
};

/// Luma among other components, at that position among the bytes: (2, 1) is that of UYVY.
constexpr PixelLayout packed_luma(int bytes, int position) {
  PixelLayout layout{bytes, {}};
  layout.weights[position] = 256;
  return layout;
}

/// Packed RGB, by the positions of red, green and blue: (4, 0, 1, 2) is RGBA. The luma is BT.601's,
/// full range.
constexpr PixelLayout packed_rgb(int bytes, int red, int green, int blue) {
  PixelLayout layout{bytes, {}};
  layout.weights[red] = 77;
  layout.weights[green] = 150;
  layout.weights[blue] = 29;
  return layout;
}

/// Where a plane of a picture in colour lies, of three that are compared one by one and scored
/// together. In row y of the frame, element x of the plane is at
///   data + (y >> shift_y) * pitch + ((x >> shift_x) * step + position) elements
/// of the frame's type: so planes may share packed pixels, and those of chroma have fewer.
struct ColorPlane {
  const void* data = nullptr;
  std::ptrdiff_t pitch = 0;      ///< bytes from one row to the next; as MatrixView::pitch
  int step = 1;                  ///< elements from one pixel to the next, 1 to 4; but for u8 only 1
  int position = 0;              ///< of the plane's element among these
  int shift_x = 0, shift_y = 0;  ///< 1 where a pixel of the plane is two of the frame's; for u8

  constexpr bool operator==(const ColorPlane&) const = default;
};
inline constexpr int color_planes = 3;

/// A borrowed matrix, row-major: element (x, y) lies at data + y * pitch + x * element_bytes().
struct MatrixView {
  const void* data = nullptr;
  ElementType type = ElementType::u8;
  Size size;  ///< in elements
  /// Bytes from one row to the next, at least a row's bytes. Negative, for u8 only: the rows lie in
  /// memory from the last to the first.
  std::ptrdiff_t pitch = 0;
  Memory memory = Memory::host;
  PixelLayout pixels = {};  ///< the layout of an element; for types other than u8 the default

  /// The same picture in colour, in the same memory; for MatchSettings::match_on. Without data
  /// there is none, the picture is gray.
  ColorPlane color[color_planes] = {};

  constexpr bool has_color() const { return color[0].data != nullptr; }
  constexpr std::ptrdiff_t element_bytes() const {
    return static_cast<std::ptrdiff_t>(size_of(type)) * pixels.bytes;
  }
};

/// A view of packed pixels with its colour, by the positions of its three channels among the bytes
/// of a pixel: (view, 0, 1, 2) for RGBA.
constexpr MatrixView with_packed_color(MatrixView view, int first, int second, int third) {
  const int positions[] = {first, second, third};
  for (int i = 0; i < color_planes; ++i)
    view.color[i] = {view.data, view.pitch, view.pixels.bytes, positions[i]};
  return view;
}

}  // namespace xcorr
