// SPDX-License-Identifier: LGPL-2.1-or-later
#include <xcorr/exceptions.hpp>
#include <xcorr/live_template.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "device/runtime.hpp"
#include "match/bank.hpp"
#include "match/frame_reader.hpp"
#include "match/image.hpp"
#include "match/poses/cutter.hpp"
#include "select/select.hpp"

namespace xcorr {
namespace {

Status bad(std::string what) { return {Code::invalid_argument, std::move(what)}; }

Status check_frame(const MatrixView& pixels, const MatrixView& frame) {
  if (!frame.data) return bad("the frame has no data");
  if (frame.type != pixels.type)
    return bad(std::string("a frame of ") + name_of(frame.type) + ", a template of " +
               name_of(pixels.type));
  if (pixels.has_color() && !frame.has_color())
    return bad("the frame is gray, the template has colour");
  if (pixels.has_color())
    if (Status s = check_color(frame, "the frame"); !s.ok()) return s;
  return check_rows(frame, "the frame");
}

Status check_patch(const MatrixView& pixels, const MatrixView& frame, int x, int y, double weight) {
  if (Status s = check_frame(pixels, frame); !s.ok()) return s;
  if (x < 0 || y < 0 || x > frame.size.width - pixels.size.width ||
      y > frame.size.height - pixels.size.height)
    return bad("the part at (" + std::to_string(x) + ", " + std::to_string(y) +
               ") is not wholly inside the frame");
  if (!(weight >= 0 && weight <= 1)) return bad("the weight must be in [0, 1]");
  return {};
}

/// The initial running averages.
std::vector<float> averages_of(ElementType type, std::span<const std::byte> bytes) {
  std::vector<float> averages(bytes.size() / size_of(type));
  const auto take = [&](const auto* pixels) {
    std::copy_n(pixels, averages.size(), averages.begin());
  };
  if (type == ElementType::u8)
    take(reinterpret_cast<const std::uint8_t*>(bytes.data()));
  else if (type == ElementType::u16)
    take(reinterpret_cast<const std::uint16_t*>(bytes.data()));
  else
    take(reinterpret_cast<const float*>(bytes.data()));
  return averages;
}

}  // namespace

struct __attribute__((visibility("hidden"))) LiveTemplate::Impl {
  Device device;
  const Runtime* runtime = nullptr;
  Stream stream;
  Stream last;           ///< where the last blend runs
  void* done = nullptr;  ///< an event, for those who come after it
  ElementType type;
  Size size;
  stage::Blend::Problem problem;
  const Variant<stage::Blend>* variant = nullptr;
  bool has_color = false;
  Block averages, pixels;  ///< of the luma, then of the planes of colour
  FrameReader reader, color_reader;
  std::optional<PatchCutter> cutter, color_cutter;
  std::uint64_t version = 0;

  Status allocate(const BankTemplate& t);
  /// On the stream `last`.
  Status blend(const MatrixView& frame, int x, int y, double weight);
  /// \param place  of the luma or a plane among the pixels
  Status blend_plane(const Rows& patch, int place, double weight);
  Status make_cutters();
  const std::uint8_t* plane(int place) const {
    return pixels.as<std::uint8_t>() +
           place * size.area() * static_cast<std::int64_t>(size_of(type));
  }
  ~Impl() {
    runtime->destroy_event(done);
    runtime->destroy_stream(stream);
  }
};

LiveTemplate::LiveTemplate(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LiveTemplate::~LiveTemplate() = default;

Result<std::shared_ptr<LiveTemplate>> LiveTemplate::create(const Device& device,
                                                           const MatrixView& pixels) try {
  auto bank = make_bank({&pixels, 1});
  if (!bank.ok()) return bank.status();
  const BankTemplate& t = bank.value().front();
  auto impl = std::make_unique<Impl>();
  impl->device = device;
  impl->runtime = &xcorr::runtime(device.backend);
  impl->type = t.type;
  impl->size = t.size;
  impl->has_color = t.pixels->view().has_color();
  impl->problem.type = t.type;
  impl->problem.size = t.size;
  auto variant = select_variant<stage::Blend>(impl->problem, device);
  if (!variant.ok()) return variant.status();
  impl->variant = variant.value();
  auto stream = impl->runtime->create_stream();
  if (!stream.ok()) return stream.status();
  impl->stream = impl->last = stream.value();
  const auto event = impl->runtime->create_event();
  if (!event.ok()) return event.status();
  impl->done = event.value();
  if (Status s = impl->allocate(t); !s.ok()) return s;
  return std::shared_ptr<LiveTemplate>(new LiveTemplate(std::move(impl)));
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Status LiveTemplate::Impl::allocate(const BankTemplate& t) {
  const std::span<const std::byte> bytes = bytes_of(*t.pixels);
  const std::vector<float> first = averages_of(t.type, bytes);
  const struct {
    Block* block;
    std::size_t bytes;
    const void* contents;
  } wanted[] = {{&averages, first.size() * sizeof(float), first.data()},
                {&pixels, bytes.size(), bytes.data()}};
  for (const auto& want : wanted) {
    auto block = Block::make(device.backend, want.bytes);
    if (!block.ok()) return block.status();
    *want.block = std::move(block.value());
    const Copy copy = bytes_copy(want.block->data(), want.contents, want.bytes);
    if (Status s = runtime->copy(copy, Memory::host, Memory::device, stream); !s.ok()) return s;
  }
  auto made = FrameReader::make(device, type, size);
  if (!made.ok()) return made.status();
  reader = std::move(made.value());
  reader.stage_all();
  if (has_color) {
    auto in_color = FrameReader::make(device, type, size, true, color_planes);
    if (!in_color.ok()) return in_color.status();
    color_reader = std::move(in_color.value());
    color_reader.stage_all();
  }
  return runtime->wait(stream);
}

Status LiveTemplate::Impl::blend(const MatrixView& frame, int x, int y, double weight) {
  const Rect part{x, y, size.width, size.height};
  const auto patch = reader.read(frame, part, last);
  if (!patch.ok()) return patch.status();
  if (Status s = blend_plane(patch.value(), 0, weight); !s.ok()) return s;
  if (Status s = reader.note_read(last); !s.ok() || !has_color) return s;
  const auto in_color = color_reader.read(frame, part, last);
  if (!in_color.ok()) return in_color.status();
  for (int i = 0; i < color_planes; ++i) {
    const Rows& rows = in_color.value();
    if (Status s = blend_plane({rows.data + i * rows.plane, rows.pitch}, 1 + i, weight); !s.ok())
      return s;
  }
  return {};
}

Status LiveTemplate::Impl::blend_plane(const Rows& patch, int place, double weight) {
  stage::Blend::Problem blended = problem;
  blended.weight = static_cast<float>(weight);
  blended.patch_pitch = patch.pitch;
  stage::Blend::Buffers buffers;
  buffers.stream = last;
  buffers.patch = patch.data;
  buffers.averages = buffers.next_averages = averages.as<float>() + place * size.area();
  buffers.blended = const_cast<std::uint8_t*>(plane(place));
  return variant->launch(blended, device, buffers, nullptr);
}

Status LiveTemplate::Impl::make_cutters() {
  const auto make = [&](std::optional<PatchCutter>& to, int planes) -> Status {
    if (to) return {};
    auto made = PatchCutter::make(device, type, size, planes);
    if (made.ok()) to = std::move(made.value());
    return made.status();
  };
  if (Status s = make(cutter, 1); !s.ok() || !has_color) return s;
  return make(color_cutter, color_planes);
}

Status LiveTemplate::blend(const MatrixView& frame, int x, int y, double weight,
                           Stream stream) try {
  if (Status s = check_patch(view(), frame, x, y, weight); !s.ok()) return s;
  impl_->last = stream.handle ? stream : impl_->stream;
  if (Status s = impl_->blend(frame, x, y, weight); !s.ok()) {
    static_cast<void>(wait());  // the device may still be reading the frame
    return s;
  }
  ++impl_->version;
  return {};
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Result<MatrixView> LiveTemplate::cut(const MatrixView& frame, const Pose& pose, Stream stream) try {
  if (Status s = check_frame(view(), frame); !s.ok()) return s;
  if (Status s = impl_->make_cutters(); !s.ok()) return s;
  impl_->last = stream.handle ? stream : impl_->stream;
  auto patch = impl_->cutter->cut(frame, pose, impl_->last);
  if (patch.ok() && impl_->has_color) {
    const auto in_color = impl_->color_cutter->cut(frame, pose, impl_->last);
    if (in_color.ok())
      std::ranges::copy(in_color.value().color, patch.value().color);
    else
      patch = in_color.status();
  }
  if (!patch.ok()) static_cast<void>(wait());  // the device may still be reading the frame
  return patch;
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Status LiveTemplate::wait() const { return impl_->runtime->wait(impl_->last); }

Status LiveTemplate::order_before(Stream stream) const {
  if (stream.handle == impl_->last.handle) return {};
  return impl_->runtime->order(impl_->last, stream, impl_->done);
}

Status LiveTemplate::read(void* pixels) const {
  const Copy copy =
      bytes_copy(pixels, impl_->pixels.data(), impl_->size.area() * size_of(impl_->type));
  if (Status s = impl_->runtime->copy(copy, Memory::device, Memory::host, impl_->last); !s.ok())
    return s;
  return impl_->runtime->wait(impl_->last);
}

const Device& LiveTemplate::device() const { return impl_->device; }

MatrixView LiveTemplate::view() const {
  const auto row = static_cast<std::ptrdiff_t>(impl_->size.width * size_of(impl_->type));
  MatrixView view{impl_->pixels.data(), impl_->type, impl_->size, row, Memory::device};
  for (int i = 0; impl_->has_color && i < color_planes; ++i)
    view.color[i] = {impl_->plane(1 + i), row};
  return view;
}

std::uint64_t LiveTemplate::version() const { return impl_->version; }

}  // namespace xcorr
