// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A template that takes up what it looks for: its pixels live on the device and are blended there
// with parts of frames. Matchers that share it all look for what it has become; each makes ready
// for it, on the device too, what has changed since it was last used.
#pragma once

#include <cstdint>
#include <memory>

#include <xcorr/device.hpp>
#include <xcorr/export.hpp>
#include <xcorr/types.hpp>

namespace xcorr {

/// Not for several threads at once, the matchers of it included.
class XCORR_API LiveTemplate {
 public:
  /// Copies the pixels (host memory, of a type and size that Matcher::set_templates takes). Errors:
  /// invalid_argument, out_of_memory, device_error.
  static Result<std::shared_ptr<LiveTemplate>> create(const Device& device,
                                                      const MatrixView& pixels);
  ~LiveTemplate();

  /// Enqueues template = (1 - weight) * template + weight * patch, of the frame's part of the
  /// template's size at (x, y), pixels; weight in [0, 1]. The template is kept in single precision
  /// between blends,
  ///   average = fma(weight, pixel - average, average),
  /// and matched with as its own type: u8 are the nearest integers, of two the even one. (Rounded
  /// each time, a pixel less than 1 / (2 weight) away from its goal would never move.) A template
  /// that is flat after it matches nothing, see is_flat(), until a later blend changes that.
  ///
  /// Neither allocates nor waits, but for what Matcher::enqueue() does too. A frame in device
  /// memory or in that of allocate_host() must live until wait() returned. Not while a frame is
  /// enqueued with a matcher of this template. Errors: invalid_argument (another type, a part that
  /// is not wholly inside the frame, a weight outside [0, 1]), after which the template is as it
  /// was; device_error.
  Status blend(const MatrixView& frame, int x, int y, double weight);

  /// Waits for the blends. Matchers may be used again.
  Status wait();

  /// Copies the pixels to dense host memory, after waiting.
  Status read(void* pixels) const;

  Backend backend() const;
  /// The pixels in device memory, dense.
  MatrixView view() const;
  /// How often it was blended.
  std::uint64_t version() const;

 private:
  struct Impl;
  explicit LiveTemplate(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace xcorr
