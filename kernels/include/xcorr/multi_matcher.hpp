// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Template matching on several devices at once, for banks that keep a single device busy.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <xcorr/export.hpp>
#include <xcorr/match.hpp>

namespace xcorr {

/// A Matcher over several devices. The templates are balanced over the devices by their pixels,
/// each device gets the frame once, and the peaks are merged. For u8 they equal those of one
/// Matcher bit for bit; for f32 only as far as kernels agree, since the choice of kernel depends on
/// the number of templates.
///
/// The first device works in the calling thread and the CUDA context that is current there, as a
/// Matcher does, every other one in its own thread and its primary context. With one device this is
/// just a Matcher. Not for use by several threads at once.
class XCORR_API MultiMatcher {
 public:
  /// Errors: invalid_argument for no devices and for a GPU that is named twice; device_error.
  static Result<MultiMatcher> create(std::span<const Device> devices);
  MultiMatcher(MultiMatcher&&) noexcept;
  MultiMatcher& operator=(MultiMatcher&&) noexcept;
  ~MultiMatcher();

  /// As Matcher::set_templates(). After out_of_memory there are no templates.
  Status set_templates(std::span<const MatrixView> templates,
                       std::span<const MatrixView> masks = {});
  /// Live templates belong to the first device, which searches all of them; the others are idle.
  Status set_templates(std::span<const std::shared_ptr<const LiveTemplate>> templates,
                       std::span<const MatrixView> masks = {});

  /// As Matcher::prepare(), for each device that has templates, one after the other, so that none
  /// disturbs what another measures. After an error it must succeed before the next frame.
  Status prepare(ElementType type, Size frame, const MatchSettings& settings);

  /// As Matcher::cost(): the seconds of the slowest device, the bytes of all.
  Cost cost() const;

  /// As Matcher::enqueue() and collect(). A frame in device memory should be in that of the first
  /// device; the others copy it from there.
  Status enqueue(const MatrixView& frame);
  Status collect(std::vector<Peak>& peaks);

  /// As Matcher::respond(), by the device that has the template.
  Status respond(const MatrixView& frame, std::uint32_t template_index, Response& response);

  /// As Matcher::kernel(), of the first device.
  std::string kernel() const;
  /// As Matcher::tuning(), of all devices.
  const std::string& tuning() const;

 private:
  struct Impl;
  explicit MultiMatcher(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace xcorr
