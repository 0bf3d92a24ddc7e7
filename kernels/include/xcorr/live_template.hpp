// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A template that adapts to its matches: its pixels stay on the device and are blended there with
// parts of frames. All matchers that share it use its latest state. Each updates its derived data,
// on the device, if the template has changed since the last use.
#pragma once

#include <cstdint>
#include <memory>

#include <xcorr/device.hpp>
#include <xcorr/export.hpp>
#include <xcorr/poses.hpp>
#include <xcorr/types.hpp>

namespace xcorr {

/// Not for use by several threads at once, and neither are the matchers that share it.
class XCORR_API LiveTemplate {
 public:
  /// Copies the pixels (host memory, of a type and size that Matcher::set_templates accepts), and
  /// their colour where there is any: then it learns from frames in colour only, and both can be
  /// matched on.
  /// Errors: invalid_argument, out_of_memory, device_error.
  static Result<std::shared_ptr<LiveTemplate>> create(const Device& device,
                                                      const MatrixView& pixels);
  ~LiveTemplate();

  /// Enqueues template = (1 - weight) * template + weight * patch, where the patch is the part of
  /// the frame at (x, y), in pixels, of the template's size; weight in [0, 1]. The template is kept
  /// in single precision between blends,
  ///   average = fma(weight, pixel - average, average), with weight 1 the pixel itself,
  /// and converted to its own type for matching: u8 by rounding to the nearest integer, ties to
  /// even. (If rounded at each blend, a pixel less than 1 / (2 weight) away from its target would
  /// never move.) A template that a blend leaves flat matches nothing, see is_flat(), until a later
  /// blend changes that.
  ///
  /// Neither allocates nor waits, with the exceptions of Matcher::enqueue(). A frame in host memory
  /// has been read when this returns; one in device memory must stay valid until wait() has
  /// returned. Must not be called while a frame is enqueued with a matcher that uses this template.
  /// Matchers may use it at once: their work comes after the blend. Errors:
  /// invalid_argument (another type, a part that is not wholly inside the frame, a weight outside
  /// [0, 1]), which leaves the template unchanged; device_error.
  Status blend(const MatrixView& frame, int x, int y, double weight, Stream stream = {});

  /// Enqueues cutting the part at a pose out of a frame, upright and of the template's size, for
  /// blend(patch, 0, 0, ...). The pose's width and height are ignored; its scale is 0.1 to 10.
  /// Pixels are interpolated by cubic convolution (Keys 1981, a = -1/2); a pixel that covers
  /// several of the frame is the mean of several samples. At multiples of 90 degrees, scale 1 and
  /// whole pixels the result is the frame's pixels.
  ///
  /// The result lies in device memory and is valid until the next call. It is complete when wait()
  /// has returned, or for work enqueued on the same stream. A frame in device memory, in
  /// memory from allocate_host() or of register_host() must stay valid until wait() has returned.
  /// The first cut of some extent allocates. Errors: invalid_argument (a pose that is not finite,
  /// or at which a pixel of the template lies outside the frame); out_of_memory, device_error.
  Result<MatrixView> cut(const MatrixView& frame, const Pose& pose, Stream stream = {});

  /// Waits for the last blend or cut.
  Status wait() const;
  /// What is enqueued on that stream from now on comes after the last blend or cut.
  Status order_before(Stream stream) const;

  /// Waits, then copies the pixels (the luma, without colour) to dense host memory.
  Status read(void* pixels) const;

  /// Where it lives.
  const Device& device() const;
  /// The pixels in device memory, dense, with their colour.
  MatrixView view() const;
  /// How often it was blended.
  std::uint64_t version() const;

 private:
  struct Impl;
  explicit LiveTemplate(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace xcorr
