// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Plain cross-correlation of matrices, in the four forms of Maděra, Šmelko, Kruliš: "Efficient
// GPU-accelerated parallel cross-correlation", JPDC 2025, section 2.2.
#pragma once

#include <memory>
#include <string_view>

#include <xcorr/device.hpp>
#include <xcorr/export.hpp>
#include <xcorr/types.hpp>

namespace xcorr {

enum class Form : std::uint8_t {
  one_to_one,   ///< one left, one right
  one_to_many,  ///< one left, each of m rights
  n_to_mn,      ///< n lefts, each with m rights of its own
  n_to_m,       ///< n lefts, each with all of the same m rights
};

constexpr const char* name_of(Form form) {
  constexpr const char* names[] = {"one_to_one", "one_to_many", "n_to_mn", "n_to_m"};
  return names[static_cast<std::uint8_t>(form)];
}

/// The largest right of u16: its sums stay below 2^53, so that a double holds them exactly.
inline constexpr std::int64_t max_u16_pixels = std::int64_t{1} << 21;

/// What to compute. The result at shift (dx, dy) is
///   r[dy][dx] = sum over (i, j) of left[j + dy][i + dx] * right[j][i],
/// over the pixels where both exist. `shifts` is the rectangle of requested shifts: element (x, y)
/// of an output is the shift (shifts.x + x, shifts.y + y); see valid_shifts and full_shifts.
///
/// Matrices of one side have one size and one pitch, and lie at a constant stride.
struct Problem {
  ElementType type = ElementType::u8;  ///< of both sides: u8, u16, i32, f32 or f64
  Form form = Form::one_to_one;
  Size left, right;
  int lefts = 1;   ///< n
  int rights = 1;  ///< m: rights of each left; n * m in all for n_to_mn
  Rect shifts;
  std::int64_t left_pitch = 0;  ///< bytes from row to row
  std::int64_t right_pitch = 0;
  std::int64_t left_stride = 0;  ///< bytes from one left to the next
  std::int64_t right_stride = 0;
  /// With one left: each right has a left of its own, `left_stride` bytes from one to the next. For
  /// the stages of matches only; no Correlator supports it.
  bool own_lefts = false;
  /// The planes of a picture: of a left one after the other, and of all rights the first, then of
  /// all the second, as if of more rights. For the stages of matches only, as above.
  int planes = 1;
  std::int64_t left_plane = 0;  ///< bytes from one plane of a left to the next

  constexpr bool operator==(const Problem&) const = default;

  /// Number of output matrices; that of left l and its right r has number l * rights + r.
  constexpr std::int64_t outputs() const { return std::int64_t{lefts} * rights; }
  /// Total number of left matrices.
  constexpr std::int64_t total_lefts() const { return own_lefts ? rights : lefts; }
  /// Bytes from the first left to that of a right among those of one left.
  constexpr std::int64_t left_offset(std::int64_t right) const {
    return own_lefts ? right * left_stride : 0;
  }
  /// The rights' planes as rights of a picture of one plane.
  constexpr Problem each_plane() const {
    Problem p = *this;
    p.rights *= planes;
    p.planes = 1;
    if (p.rights > 1 && form == Form::one_to_one) p.form = Form::one_to_many;
    return p;
  }
  /// Total number of right matrices.
  constexpr std::int64_t total_rights() const { return form == Form::n_to_mn ? outputs() : rights; }
  /// The right matrix that output `index` uses.
  constexpr std::int64_t right_of(std::int64_t index) const {
    return form == Form::n_to_mn ? index : index % rights;
  }

  /// u8 gives exact integers: u32 if the largest sum (all 255) fits, else u64. u16 gives u64, for
  /// rights of up to max_u16_pixels. i32 gives i64, exact while sum |l * r| < 2^63. f32 and f64
  /// give their own type, with an error of at most c * eps * sum |l * r|.
  constexpr ElementType output_type() const {
    if (type == ElementType::i32) return ElementType::i64;
    if (type == ElementType::u16) return ElementType::u64;
    if (type != ElementType::u8) return type;
    constexpr std::int64_t fits_u32 = 0xffffffffLL / (255 * 255);  // 66,051 pixels
    return right.area() <= fits_u32 ? ElementType::u32 : ElementType::u64;
  }
};

/// Every shift at which the right lies wholly inside the left; empty when it does not fit.
/// Output (x, y) is scipy.signal.correlate2d(left, right, 'valid')[y][x].
constexpr Rect valid_shifts(Size left, Size right) {
  return {0, 0, left.width - right.width + 1, left.height - right.height + 1};
}

/// Every shift at which the two overlap by at least a pixel, from (1 - right.width,
/// 1 - right.height) on. Output (x, y) is scipy.signal.correlate2d(left, right, 'full')[y][x].
constexpr Rect full_shifts(Size left, Size right) {
  return {1 - right.width, 1 - right.height, left.width + right.width - 1,
          left.height + right.height - 1};
}

/// A dense problem (no padding between rows or matrices) over the valid or any other shifts.
constexpr Problem dense_problem(ElementType type, Form form, Size left, Size right, int lefts,
                                int rights, Rect shifts) {
  const auto bytes = static_cast<std::int64_t>(size_of(type));
  return {type,
          form,
          left,
          right,
          lefts,
          rights,
          shifts,
          left.width * bytes,
          right.width * bytes,
          left.area() * bytes,
          right.area() * bytes};
}

/// A plan for one problem on one device. It owns what is kept between calls (transform plans, the
/// rights' spectra); the caller owns everything else. One plan serves one thread at a time.
class XCORR_API Correlator {
 public:
  /// `kernel` is a variant's name (`fft`, `overlap_wise`, ...) or "auto". Errors: invalid_argument
  /// for a malformed problem, unsupported when no such kernel supports it, out_of_memory,
  /// device_error.
  static Result<Correlator> create(const Problem& problem, const Device& device,
                                   std::string_view kernel = "auto");
  Correlator(Correlator&&) noexcept;
  Correlator& operator=(Correlator&&) noexcept;
  ~Correlator();

  /// The chosen variant's name.
  const char* kernel() const;
  /// Bytes of scratch memory (in the device's memory) that run() needs.
  std::size_t workspace_bytes() const;

  /// Sets the rights, which must be in the device's memory and stay valid and unchanged until the
  /// next call of set_rights. May allocate and wait.
  Status set_rights(const void* rights, Stream stream = {});

  /// Enqueues the work on `stream`; neither allocates nor waits. `out`: outputs() dense matrices of
  /// shifts.size() elements of output_type(), in the device's memory. The caller owns the memory of
  /// all three pointers, which must stay valid until the stream has done this work.
  Status run(const void* lefts, void* out, void* workspace, Stream stream = {});

 private:
  struct Impl;
  explicit Correlator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace xcorr
