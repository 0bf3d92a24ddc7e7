// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/poses/template.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

#include "select/select.hpp"
#include "stages/poses/pyramid_down.hpp"

namespace xcorr {
namespace {

/// Images of a scale share a mask if that leaves them this much of what counts, or less but as
/// many pixels as a disc of 14 has.
constexpr double least_common = 0.6, least_share = 0.3;
constexpr int least_counted = 154;

/// Twice the distances of the farthest pixel that counts from the centre, plus 1.
Size extent_of(Size size, const std::vector<std::uint8_t>& mask) {
  if (mask.empty()) return size;
  Size extent{1, 1};
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      if (mask[std::int64_t{y} * size.width + x])
        extent = {std::max(extent.width, std::abs(2 * x - size.width + 1) + 1),
                  std::max(extent.height, std::abs(2 * y - size.height + 1) + 1)};
  return extent;
}

/// Of the circle round the centre that holds all pixels that count; 0 where all do.
int diameter_of(Size size, const std::vector<std::uint8_t>& mask) {
  double farthest = 0;  // twice
  for (int y = 0; y < size.height && !mask.empty(); ++y)
    for (int x = 0; x < size.width; ++x)
      if (mask[std::int64_t{y} * size.width + x])
        farthest = std::max(farthest, std::hypot(2 * x - size.width + 1, 2 * y - size.height + 1));
  return mask.empty() ? 0 : static_cast<int>(std::ceil(farthest)) + 1;
}

/// Whether what counts is all within some distance of the centre.
bool is_disc(const BankTemplate& t) {
  if (t.mask.empty()) return false;
  std::int64_t farthest = 0, nearest_outside = INT64_MAX;
  for (int y = 0; y < t.size.height; ++y)
    for (int x = 0; x < t.size.width; ++x) {
      const std::int64_t u = 2 * x - t.size.width + 1, v = 2 * y - t.size.height + 1;
      if (t.mask[std::int64_t{y} * t.size.width + x])
        farthest = std::max(farthest, u * u + v * v);
      else
        nearest_outside = std::min(nearest_outside, u * u + v * v);
    }
  return farthest < nearest_outside;
}

/// A level of a mask behind those below it: a pixel counts if all four do.
void append_halved(std::vector<std::uint8_t>& mask, const TemplatePyramid& pyramid, int level) {
  const std::int64_t begin = pyramid.begin_of(level);
  const Size from = pyramid.size_of(level), to = pyramid.size_of(level + 1);
  for (int y = 0; y < to.height; ++y)
    for (int x = 0; x < to.width; ++x) {
      const std::int64_t at = begin + std::int64_t{2 * y} * from.width + 2 * x;
      mask.push_back(mask[at] & mask[at + 1] & mask[at + from.width] & mask[at + from.width + 1]);
    }
}

Size most_of(std::span<const WarpMap> maps) {
  Size most;
  for (const WarpMap& map : maps)
    most = {std::max(most.width, map.width), std::max(most.height, map.height)};
  return most;
}

}  // namespace

TemplatePyramid pyramid_of(Size size) {
  constexpr int most = 8;
  int halvings = 0;
  while (halvings < most &&
         std::min(size.width, size.height) >> (halvings + 1) >= least_template_side)
    ++halvings;
  return {size, halvings};
}

// ---- making ---------------------------------------------------------------------------------

Result<PoseTemplate> PoseTemplate::make(const Device& device, const BankTemplate& t, int planes,
                                        const PoseRange& range, Size frame, Stream stream) {
  PoseTemplate made;
  made.device_ = device;
  made.type_ = t.type;
  made.planes_ = planes;
  made.pyramid_ = pyramid_of(t.size);
  made.extent_ = extent_of(t.size, t.mask);
  made.round_ = is_disc(t);
  made.diameter_ = made.round_ ? 0 : diameter_of(t.size, t.mask);
  made.masking_ = masking_of(t.mask, t.size);
  if (Status s = choose_into(made.pyramid_down_, {half_of(t.size), 0, 0, t.type}, device); !s.ok())
    return s;
  if (Status s = choose_into(made.warp_template_,
                             {made.pyramid_, made.masking_, t.size, 1, 0, 0, t.type}, device);
      !s.ok())
    return s;
  if (Status s = choose_into(made.smooth_, {t.size, t.type}, device); !s.ok()) return s;
  if (Status s = made.allocate(t, stream); !s.ok()) return s;
  made.live_ = t.source;
  if (t.source) {
    // What blends into it may still be enqueued on a stream of the caller's.
    if (Status s = t.source->wait(); !s.ok()) return s;
    made.version_ = t.source->version();
  }
  if (Status s = made.load(t.source ? t.source->view() : view_of(t), stream); !s.ok()) return s;
  if (Status s = made.choose_levels(range, frame, stream); !s.ok()) return s;
  return made;
}

Status PoseTemplate::allocate(const BankTemplate& t, Stream stream) {
  const Backend backend = device_.backend;
  std::vector<std::uint8_t> mask = t.mask;
  for (int level = 0; masking_ && level < pyramid_.halvings; ++level)
    append_halved(mask, pyramid_, level);
  const std::vector<std::uint8_t> counted = inset_mask(t.mask, t.size, pose_refine_inset);
  aligned_pixels_ = std::ssize(counted) - std::ranges::count(counted, 0);
  if (Status s = upload(backend, mask_, mask.data(), mask.size(), stream); !s.ok()) return s;
  if (Status s = upload(backend, counted_, counted.data(), counted.size(), stream); !s.ok())
    return s;
  if (Status s = pixels_.provide(backend, planes_ * pyramid_.area() * element()); !s.ok()) return s;
  return smoothed_.provide(backend, planes_ * t.size.area() * sizeof(SmoothedPixel));
}

Status PoseTemplate::load(const MatrixView& picture, Stream stream) {
  for (int plane = 0; plane < planes_; ++plane)
    if (Status s = load_plane(plane, plane_of(picture, plane, planes_), stream); !s.ok()) return s;
  return {};
}

Status PoseTemplate::load_plane(int plane, const MatrixView& pixels, Stream stream) {
  auto* levels = pixels_.as<std::uint8_t>() + plane * pyramid_.area() * element();
  if (Status s = runtime(device_.backend)
                     .copy(bytes_copy(levels, pixels.data, pyramid_.size.area() * element()),
                           pixels.memory, Memory::device, stream);
      !s.ok())
    return s;
  for (int level = 0; level < pyramid_.halvings; ++level) {
    const Size half = pyramid_.size_of(level + 1);
    const stage::PyramidDown::Buffers buffers{{nullptr, stream},
                                              levels + pyramid_.begin_of(level) * element(),
                                              levels + pyramid_.begin_of(level + 1) * element()};
    const std::int64_t row = pyramid_.size_of(level).width * element();
    if (Status s = pyramid_down_->launch({half, row, half.width * element(), type_}, device_,
                                         buffers, nullptr);
        !s.ok())
      return s;
  }
  return smooth_->launch({pyramid_.size, type_}, device_,
                         {{nullptr, stream},
                          levels,
                          counted_.as<std::uint8_t>(),
                          smoothed_.as<SmoothedPixel>() + plane * pyramid_.size.area()},
                         nullptr);
}

// ---- images -------------------------------------------------------------------------------

Status upload(Backend backend, Block& block, const void* from, std::size_t bytes, Stream stream) {
  if (Status s = block.provide(backend, bytes); !s.ok() || bytes == 0) return s;
  return runtime(backend).copy(bytes_copy(block.data(), from, bytes), Memory::host, Memory::device,
                               stream);
}

Result<PoseTemplate::Warped> PoseTemplate::room_for(std::span<const WarpMap> maps,
                                                    Stream stream) const {
  const Backend backend = device_.backend;
  Warped made;
  made.most = most_of(maps);
  made.count = static_cast<int>(maps.size());
  const std::size_t pixels = maps.size() * made.most.area();
  if (Status s = upload(backend, made.maps, maps.data(), maps.size_bytes(), stream); !s.ok())
    return s;
  if (Status s = made.pixels.provide(backend, planes_ * pixels * element()); !s.ok()) return s;
  if (Status s = made.masks.provide(backend, pixels); !s.ok()) return s;
  if (Status s = made.sums.provide(backend, planes_ * maps.size() * sizeof(WarpedTemplateSums));
      !s.ok())
    return s;
  return made;
}

Status PoseTemplate::warp_template(const Warped& warped, int first, int count,
                                   Stream stream) const {
  const std::int64_t begin = first * warped.most.area();
  for (int plane = 0; plane < planes_; ++plane) {
    const std::int64_t at = plane * warped.plane() + begin;
    if (Status s = warp_template_->launch(
            {pyramid_, masking_, warped.most, count, 0, 0, type_}, device_,
            {{nullptr, stream},
             pixels() + plane * pyramid_.area() * element(),
             mask(),
             warped.maps.as<WarpMap>() + first,
             warped.pixels.as<std::uint8_t>() + at * element(),
             warped.masks.as<std::uint8_t>() + begin,
             warped.sums.as<WarpedTemplateSums>() + plane * warped.count + first},
            nullptr);
        !s.ok())
      return s;
  }
  return {};
}

Result<PoseTemplate::Warped> PoseTemplate::warped(std::span<const WarpMap> maps,
                                                  Stream stream) const {
  auto made = room_for(maps, stream);
  if (!made.ok()) return made;
  if (Status s = warp_template(made.value(), 0, made.value().count, stream); !s.ok()) return s;
  return made;
}

Result<PoseTemplate::Images> PoseTemplate::download(const Warped& warped, Stream stream) const {
  const Runtime& device = runtime(device_.backend);
  const std::size_t pixels = warped.count * warped.most.area();
  Images made{warped.most, std::vector<std::byte>(planes_ * pixels * element()),
              std::vector<std::uint8_t>(pixels), std::vector<WarpedTemplateSums>(warped.count)};
  const auto fetch = [&](auto& to, const Block& from) {
    return device.copy(bytes_copy(to.data(), from.data(), to.size() * sizeof to[0]), Memory::device,
                       Memory::host, stream);
  };
  if (Status s = fetch(made.pixels, warped.pixels); !s.ok()) return s;
  if (Status s = fetch(made.masks, warped.masks); !s.ok()) return s;
  if (Status s = fetch(made.sums, warped.sums); !s.ok()) return s;
  if (Status s = device.wait(stream); !s.ok()) return s;
  return made;
}

Result<PoseTemplate::Images> PoseTemplate::images_of(std::span<const WarpMap> maps,
                                                     Stream stream) const {
  const auto made = warped(maps, stream);
  return made.ok() ? download(made.value(), stream) : made.status();
}

Result<PoseTemplate::Images> PoseTemplate::framed(std::vector<WarpMap> maps, Stream stream) const {
  const Size most = most_of(maps);
  for (WarpMap& map : maps) std::tie(map.width, map.height) = std::pair(most.width, most.height);
  return images_of(maps, stream);
}

// ---- the top level --------------------------------------------------------------------------

namespace {

/// The mask that all images have in common, of their size.
std::vector<std::uint8_t> common_mask(const std::vector<std::uint8_t>& masks, std::size_t each) {
  std::vector<std::uint8_t> common(masks.begin(),
                                   masks.begin() + static_cast<std::ptrdiff_t>(each));
  for (std::size_t first = each; first < masks.size(); first += each)
    for (std::size_t i = 0; i < each; ++i) common[i] &= masks[first + i];
  return common;
}

/// The upper left part of a mask.
std::vector<std::uint8_t> part_of(const std::uint8_t* mask, int pitch, Size size) {
  std::vector<std::uint8_t> part;
  for (int y = 0; y < size.height; ++y)
    part.insert(part.end(), mask + std::int64_t{y} * pitch,
                mask + std::int64_t{y} * pitch + size.width);
  return part;
}

/// The rectangle round all that counts.
Rect counted_part(const std::vector<std::uint8_t>& mask, Size size) {
  Rect part{size.width, size.height, 0, 0};
  int right = 0, bottom = 0;
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      if (mask[std::int64_t{y} * size.width + x]) {
        part.x = std::min(part.x, x);
        part.y = std::min(part.y, y);
        right = std::max(right, x + 1);
        bottom = y + 1;
      }
  part.width = right - part.x;
  part.height = bottom - part.y;
  return part;
}

}  // namespace

/// The images' sizes become that of the part in which something counts in all of them, if they
/// can share their masks.
Result<bool> PoseTemplate::share_mask(std::vector<WarpMap>& maps, Stream stream) const {
  // What full size finds is not scored again.
  if (!round_ && grid_.top() == 0) return false;
  const auto images = framed(maps, stream);
  if (!images.ok()) return images.status();
  const Size most = images.value().most;
  const auto common = common_mask(images.value().masks, static_cast<std::size_t>(most.area()));
  const auto counted = static_cast<double>(std::count(common.begin(), common.end(), 1));
  const bool shared = std::ranges::all_of(images.value().sums, [&](const WarpedTemplateSums& s) {
    return counted >= (counted >= least_counted ? least_share : least_common) * s.counted;
  });
  const Size extent = extent_of(most, common);
  if (shared)
    for (WarpMap& map : maps)
      std::tie(map.width, map.height) = std::pair(extent.width, extent.height);
  return shared;
}

Status PoseTemplate::append_scale(int scale, PoseBank& bank, Stream stream) {
  const int level = grid_.top();
  std::vector<WarpMap> maps;
  for (int angle = 0; angle < grid_.angles(level); ++angle)
    maps.push_back(top_grid_.map(level, {angle, scale}));
  const auto shared = share_mask(maps, stream);
  if (!shared.ok()) return shared.status();
  auto made = warped(maps, stream);
  if (!made.ok()) return made.status();
  const auto images = download(made.value(), stream);
  if (!images.ok()) return images.status();
  TopScale top{std::move(made.value()), {}};
  const Size most = top.warped.most;
  const auto each = static_cast<std::size_t>(most.area());
  const std::vector<std::uint8_t>& masks = images.value().masks;
  std::vector<std::uint8_t> common;
  if (shared.value()) common = common_mask(masks, each);
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const Size size{maps[i].width, maps[i].height};
    std::vector<std::uint8_t> mask =
        shared.value() ? common : part_of(masks.data() + i * each, most.width, size);
    const auto counts = std::ranges::count(mask, 1);
    top.images.push_back(counts > 0 ? std::make_shared<Image>() : nullptr);
    if (counts == 0) continue;  // smaller than a pixel
    const Rect part = counted_part(mask, size);
    mask =
        part_of(mask.data() + std::int64_t{part.y} * size.width + part.x, size.width, part.size());
    if (counts == std::ssize(mask)) mask.clear();
    Image& image = *top.images.back();
    const std::ptrdiff_t row = most.width * element();
    const auto* const pixels = top.warped.pixels.as<std::uint8_t>() + i * each * element() +
                               part.y * row + part.x * element();
    image.pixels = {pixels, type_, part.size(), row, Memory::device};
    for (int plane = 0; planes_ > 1 && plane < planes_; ++plane)
      image.pixels.color[plane] = {pixels + plane * top.warped.plane() * element(), row};
    image.made = version_;
    image.index = bank.images.size();
    bank.images.push_back({type_, part.size(), {}, nullptr, top.images.back(), std::move(mask)});
    bank.poses.push_back({static_cast<int>(i), scale});
    bank.to_centre.push_back(
        {size.width - part.width - 2 * part.x, size.height - part.height - 2 * part.y});
  }
  top_.push_back(std::move(top));
  return {};
}

double PoseTemplate::samples_of(const PoseGrid& grid) {
  const int level = grid.top();
  const Size most = grid.most(level);  // at any angle: that of a thin template grows most
  return double(images_of_top(grid)) * double(most.area()) *
         (1 << 2 * grid.map(level, {0, grid.scales(level) - 1}).log2_samples);
}

Result<PoseBank> PoseTemplate::top_bank(Stream stream) {
  const int level = grid_.top();
  const std::int64_t poses = images_of_top(grid_);
  const WarpMap largest = grid_.map(level, {0, grid_.scales(level) - 1});
  const Size shown{largest.width, largest.height};
  if (type_ == ElementType::u16 && shown.area() > max_u16_pixels)
    return Status(Code::unsupported,
                  "images of " + std::to_string(shown.width) + "x" + std::to_string(shown.height) +
                      " pixels of u16: at most 2097152 are searched, of more as f32 or halved");
  const Size most = grid_.most(level);
  if (samples_of(grid_) > most_samples)
    return Status(Code::invalid_argument,
                  std::to_string(poses) + " poses of up to " + std::to_string(most.width) + "x" +
                      std::to_string(most.height) +
                      " pixels are too many: take longer steps or more levels");
  PoseBank bank;
  for (int scale = 0; scale < grid_.scales(level); ++scale)
    if (Status s = append_scale(scale, bank, stream); !s.ok()) return s;
  return bank;
}

// ---- changes --------------------------------------------------------------------------------

Status PoseTemplate::refresh(const std::vector<bool>& wanted, Stream stream) {
  if (!live_) return {};
  if (const std::uint64_t version = live_->version(); version != version_) {
    if (Status s = load(live_->view(), stream); !s.ok()) return s;
    version_ = version;
  }
  for (TopScale& scale : top_)
    if (Status s = refresh(scale, wanted, stream); !s.ok()) return s;
  return {};
}

Status PoseTemplate::refresh(TopScale& scale, const std::vector<bool>& wanted, Stream stream) {
  const auto is_stale = [&](const auto& image) {
    return image && image->made != version_ && wanted[image->index];
  };
  auto& images = scale.images;
  auto from = std::ranges::find_if(images, is_stale);
  while (from != images.end()) {
    const auto to = std::find_if_not(from, images.end(), is_stale);
    if (Status s = warp_template(scale.warped, static_cast<int>(from - images.begin()),
                                 static_cast<int>(to - from), stream);
        !s.ok())
      return s;
    for (; from != to; ++from) (*from)->made = version_;
    from = std::find_if(to, images.end(), is_stale);
  }
  return {};
}

}  // namespace xcorr
