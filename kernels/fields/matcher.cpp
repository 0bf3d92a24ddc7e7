// SPDX-License-Identifier: LGPL-2.1-or-later
#include <xcorr/exceptions.hpp>
#include <xcorr/field.hpp>
#include <xcorr/filter.hpp>

#include <optional>
#include <string>
#include <utility>

#include "device/memory_limit.hpp"
#include "fields/plan.hpp"
#include "fields/settings.hpp"
#include "match/frame_reader.hpp"
#include "match/image.hpp"
#include "match/prefilter.hpp"

namespace xcorr {
namespace {

/// By how much the noise of smoothed pixels acts more on displacements than as much noise of pixels
/// that have nothing to do with each other: at most, which is that of coarse details. Smoothing
/// leaves these their noise, and of the pixels' takes away all but the sum of the squared weights.
double noise_together(double prefilter_sigma) {
  const AxisWeights weights = gaussian_weights(prefilter_sigma).value();
  double squares = 0;
  for (int i = 0; i < weights.count(); ++i) squares += weights.values[i] * weights.values[i];
  return 1 / squares;
}

/// An image in memory of its own, which kernels read.
struct OwnImage {
  Block block;
  bool is_set = false;
};

}  // namespace

struct __attribute__((visibility("hidden"))) FieldMatcher::Impl {
  Device device;
  const Runtime* runtime = nullptr;
  Stream own_stream;
  Size image;
  ElementType type = ElementType::u8;
  std::int64_t row_bytes = 0, pitch = 0;
  std::optional<FieldPlan> plan;
  std::size_t bytes = 0, max_memory = 0;
  FrameReader reader;
  std::optional<Prefilter> prefilter;
  double noise = 1;  ///< see noise_together()
  OwnImage reference, frame;
  std::optional<Stream> pending;

  ~Impl() {
    if (pending) static_cast<void>(runtime->wait(*pending));
    if (runtime) runtime->destroy_stream(own_stream);
  }

  Status make(const FieldSettings& settings, const MatrixView& mask,
              std::span<const FieldPlace> places);
  Status check(const MatrixView& view, const char* name) const;
  static Status uncollected() {
    return {Code::invalid_argument, "the field that was enqueued has not been collected"};
  }
  /// Enqueues a copy into `to`, smoothed where that is asked for.
  Status take(OwnImage& to, const MatrixView& view, Stream stream);
  Status check_ensemble(std::span<const FieldPair> pairs) const;
  Status enqueue_ensemble(std::span<const FieldPair> pairs, Stream stream);
  FieldImage view_of(const OwnImage& own) const { return {own.block.as<std::uint8_t>(), pitch}; }
};

Status FieldMatcher::Impl::make(const FieldSettings& settings, const MatrixView& mask,
                                std::span<const FieldPlace> places) {
  auto stream = runtime->create_stream();
  if (!stream.ok()) return stream.status();
  own_stream = stream.value();
  std::vector<std::uint8_t> counts;
  if (mask.data) {
    const std::vector<std::byte> dense = dense_copy(mask);
    for (const std::byte b : dense) counts.push_back(b != std::byte{0});
  }
  auto made = FieldPlan::make(device, image, settings, counts, places, own_stream);
  if (!made.ok()) return made.status();
  plan = std::move(made.value());
  type = settings.type;
  auto made_reader = FrameReader::make(device, type, image, false);
  if (!made_reader.ok()) return made_reader.status();
  reader = std::move(made_reader.value());
  if (settings.prefilter_sigma > 0) {
    auto filter = Prefilter::make(device, type, image, image, settings.prefilter_sigma);
    if (!filter.ok()) return filter.status();
    prefilter = std::move(filter.value());
    noise = noise_together(settings.prefilter_sigma);
  }
  row_bytes = image.width * static_cast<std::int64_t>(size_of(type));
  pitch = padded_pitch(row_bytes);
  for (OwnImage* own : {&reference, &frame})
    if (Status s =
            own->block.provide(device.backend, static_cast<std::size_t>(pitch * image.height));
        !s.ok())
      return s;
  return {};
}

Status FieldMatcher::Impl::check(const MatrixView& view, const char* name) const {
  if (view.type != type)
    return {Code::unsupported, std::string(name) + " is of " + name_of(view.type) +
                                   ", but was prepared for " + name_of(type)};
  if (view.size != image)
    return {Code::invalid_argument,
            std::string(name) + " is of " + std::to_string(view.size.width) + "x" +
                std::to_string(view.size.height) + ", but was prepared for " +
                std::to_string(image.width) + "x" + std::to_string(image.height)};
  if (!view.data) return {Code::invalid_argument, std::string(name) + " has no data"};
  return check_rows(view, name);
}

Status FieldMatcher::Impl::take(OwnImage& to, const MatrixView& view, Stream stream) {
  const Rect whole{0, 0, image.width, image.height};
  auto rows = reader.read(view, whole, stream, prefilter ? nullptr : &to.block);
  if (rows.ok() && prefilter) rows = prefilter->run(rows.value(), whole, stream);
  Status status = rows.status();
  if (rows.ok() && rows.value().data != to.block.data())
    status =
        runtime->copy({to.block.data(), pitch, rows.value().data, rows.value().pitch,
                       static_cast<std::size_t>(row_bytes), static_cast<std::size_t>(image.height)},
                      Memory::device, Memory::device, stream);
  to.is_set = status.ok();
  return status;
}

Status FieldMatcher::Impl::check_ensemble(std::span<const FieldPair> pairs) const {
  if (pending) return uncollected();
  if (pairs.empty()) return {Code::invalid_argument, "an ensemble has at least one pair"};
  if (plan->fits())
    return {Code::invalid_argument,
            "least squares fit single pairs; an ensemble takes another sub-pixel method"};
  for (const FieldPair& pair : pairs) {
    if (Status s = check(pair.reference, "the reference"); !s.ok()) return s;
    if (Status s = check(pair.frame, "the frame"); !s.ok()) return s;
  }
  return {};
}

Status FieldMatcher::Impl::enqueue_ensemble(std::span<const FieldPair> pairs, Stream stream) {
  const MemoryLimit limit(max_memory);
  if (Status s = plan->prepare_ensemble(); !s.ok()) return s;
  for (int pass = 0; pass < plan->passes(); ++pass) {
    FieldPairNumber number{0, static_cast<int>(pairs.size())};
    for (const FieldPair& pair : pairs) {
      if (Status s = take(reference, pair.reference, stream); !s.ok()) return s;
      if (Status s = take(frame, pair.frame, stream); !s.ok()) return s;
      if (Status s = plan->enqueue_pair(pass, view_of(reference), view_of(frame), number, stream);
          !s.ok())
        return s;
      ++number.pair;
    }
  }
  return {};
}

FieldMatcher::FieldMatcher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
FieldMatcher::FieldMatcher(FieldMatcher&&) noexcept = default;
FieldMatcher& FieldMatcher::operator=(FieldMatcher&&) noexcept = default;
FieldMatcher::~FieldMatcher() = default;

Result<FieldMatcher> FieldMatcher::make(const Device& device, Size image,
                                        const FieldSettings& settings, const MatrixView& mask,
                                        std::span<const FieldPlace> places) try {
  if (Status s = check_field(image, settings, mask, places); !s.ok()) return s;
  auto impl = std::make_unique<Impl>();
  impl->device = device;
  impl->runtime = &runtime(device.backend);
  impl->image = image;
  const MemoryLimit limit(settings.budget.max_memory);
  if (Status s = impl->make(settings, mask, places); !s.ok()) return s;
  impl->bytes = limit.used();
  impl->max_memory = settings.budget.max_memory;
  return FieldMatcher(std::move(impl));
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Cost FieldMatcher::cost() const { return {impl_->plan->seconds(), impl_->bytes}; }

Size FieldMatcher::grid() const { return impl_->plan->grid().count; }

Status FieldMatcher::set_reference(const MatrixView& reference, Stream stream) try {
  if (impl_->pending) return impl_->uncollected();
  if (Status s = impl_->check(reference, "the reference"); !s.ok()) return s;
  if (!stream.handle) stream = impl_->own_stream;
  Status status = impl_->take(impl_->reference, reference, stream);
  // A frame may come on another stream.
  const Status waited = impl_->runtime->wait(stream);
  if (status.ok()) status = waited;
  impl_->reference.is_set = status.ok();
  return status;
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Status FieldMatcher::enqueue(const MatrixView& frame, Stream stream) try {
  if (!impl_->reference.is_set) return {Code::invalid_argument, "there is no reference"};
  if (impl_->pending) return impl_->uncollected();
  if (Status s = impl_->check(frame, "the frame"); !s.ok()) return s;
  if (!stream.handle) stream = impl_->own_stream;
  Status status = impl_->take(impl_->frame, frame, stream);
  const PacedScope paced(impl_->plan->seconds() > longest_unpaced);
  if (status.ok())
    status = impl_->plan->enqueue(impl_->view_of(impl_->reference), impl_->view_of(impl_->frame),
                                  stream);
  // The device may still be reading the frame. If waiting fails as well, it is not.
  if (status.ok())
    impl_->pending = stream;
  else
    static_cast<void>(impl_->runtime->wait(stream));
  return status;
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Status FieldMatcher::advance() {
  if (!impl_->frame.is_set) return {Code::invalid_argument, "no frame has been enqueued"};
  std::swap(impl_->reference, impl_->frame);
  impl_->frame.is_set = false;
  return {};
}

Result<std::span<const FieldVector>> FieldMatcher::collect() {
  if (!impl_->pending) return Status{Code::invalid_argument, "no field is enqueued"};
  const Stream stream = *impl_->pending;
  impl_->pending.reset();
  if (Status s = impl_->runtime->wait(stream); !s.ok()) return s;
  const std::span<FieldVector> vectors = impl_->plan->vectors();
  if (impl_->prefilter)
    for (FieldVector& vector : vectors) vector.sigma *= static_cast<float>(impl_->noise);
  return std::span<const FieldVector>(vectors);
}

Status FieldMatcher::collect(std::vector<FieldVector>& vectors) try {
  vectors.clear();
  const auto found = collect();
  if (!found.ok()) return found.status();
  vectors.assign(found.value().begin(), found.value().end());
  return {};
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Status FieldMatcher::match(const MatrixView& reference, const MatrixView& frame,
                           std::vector<FieldVector>& vectors) {
  if (Status s = set_reference(reference); !s.ok()) return s;
  if (Status s = enqueue(frame); !s.ok()) return s;
  return collect(vectors);
}

Status FieldMatcher::match_ensemble(std::span<const FieldPair> pairs,
                                    std::vector<FieldVector>& vectors, Stream stream) try {
  vectors.clear();
  if (Status s = impl_->check_ensemble(pairs); !s.ok()) return s;
  if (!stream.handle) stream = impl_->own_stream;
  const PacedScope paced(impl_->plan->seconds() > longest_unpaced);
  const Status status = impl_->enqueue_ensemble(pairs, stream);
  impl_->reference.is_set = impl_->frame.is_set = false;
  if (!status.ok()) {
    static_cast<void>(impl_->runtime->wait(stream));
    return status;
  }
  impl_->pending = stream;
  return collect(vectors);
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

}  // namespace xcorr
