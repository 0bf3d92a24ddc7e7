// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fields/field_estimator.h"

#include <string>
#include <utility>

#include "matching/current_context.h"
#include "matching/frame.h"
#include "matching/image_size.h"
#include "matching/luma_image.h"
#include "matching/masking.h"

namespace cudaxcorr::fields {
namespace {

xcorr::Status unusable(std::string text) {
  return {xcorr::Code::invalid_argument, std::move(text)};
}

/// Whether an image of a file has the frames' size.
xcorr::Status check_size(const char* what, const LoadedImage& image, xcorr::Size frame) {
  const xcorr::Size size = image.size();
  if (size == frame) return {};
  return unusable(what + (" '" + image.file) + "' has " + text_of(size) +
                  " pixels, the frames have " + text_of(frame));
}

}  // namespace

FieldEstimator::FieldEstimator(Devices device, const PipelineContext& context)
    : device_(std::move(device)), context_(context) {
  gst_video_info_init(&format_);
}

FieldEstimator::~FieldEstimator() {
  // Whichever thread stops the element releases the memory. If this fails, an earlier call has
  // reported it.
  const CurrentContext current(device(), context_);
  matcher_.reset();
}

void FieldEstimator::set_format(const GstVideoInfo& format) {
  const CurrentContext current(device(), context_);
  format_ = format;
  matcher_.reset();
  has_reference_ = false;
}

xcorr::Status FieldEstimator::configure(const Task& task) {
  const xcorr::Size frame{format_.width, format_.height};
  const Files& files = task.files;
  Mask mask;
  if (files.mask) {
    if (auto status = check_size("The mask file", *files.mask, frame); !status.ok()) return status;
    std::string reason;
    mask = read_mask(*files.mask, bright_pixels, reason);
    if (!reason.empty()) return unusable("The mask file '" + files.mask->file + "': " + reason);
  }
  std::optional<LumaImage> reference;
  if (task.reference == Reference::file) {
    if (!files.reference)
      return unusable("With reference=file there must be an image in 'reference-file'");
    if (auto status = check_size("The reference file", *files.reference, frame); !status.ok())
      return status;
    reference = luma_in(format_, *files.reference);
    if (!reference)
      return unusable("Cannot convert the reference file '" + files.reference->file +
                      "' to the frames' format");
  }
  const CurrentContext current(device(), context_);
  if (!current.status().ok()) return current.status();
  xcorr::FieldSettings settings = task.field;
  settings.type = luma_type(format_);
  auto made = xcorr::FieldMatcher::make(
      device(), frame, settings,
      mask.empty() ? xcorr::MatrixView{}
                   : xcorr::MatrixView{mask.data(), xcorr::ElementType::u8, frame, frame.width},
      files.places ? std::span(files.places->centres) : std::span<const xcorr::FieldPlace>());
  if (!made.ok()) return made.status();
  if (reference)
    if (auto status = made.value().set_reference(reference->view()); !status.ok()) return status;
  seconds_ = made.value().cost().seconds;
  matcher_.emplace(std::move(made.value()));
  task_ = task;
  has_reference_ = reference.has_value();
  return {};
}

xcorr::Status FieldEstimator::set_reference(const xcorr::MatrixView& image) {
  const CurrentContext current(device(), context_);
  if (!current.status().ok()) return current.status();
  const auto status = matcher_->set_reference(image);
  has_reference_ = status.ok();
  return status;
}

xcorr::Status FieldEstimator::measure(const xcorr::MatrixView& frame,
                                      std::vector<xcorr::FieldVector>& vectors) {
  const CurrentContext current(device(), context_);
  if (!current.status().ok()) return current.status();
  if (auto status = matcher_->enqueue(frame); !status.ok()) return status;
  return matcher_->collect(vectors);
}

xcorr::Status FieldEstimator::advance() { return matcher_->advance(); }

}  // namespace cudaxcorr::fields
