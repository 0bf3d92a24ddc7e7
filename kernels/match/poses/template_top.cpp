// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The images of a template at the poses of the top level.
#include <algorithm>
#include <string>
#include <tuple>

#include "match/poses/template.hpp"

namespace xcorr {
namespace {

/// Images of a scale share a mask if that leaves them this much of what counts, or of their edges,
/// or less but as many pixels as a disc of 14 has.
constexpr double least_common = 0.6, least_share = 0.3;
constexpr int least_counted = 154;

/// The mask that all images have in common, of their size.
std::vector<std::uint8_t> common_mask(const std::vector<std::uint8_t>& masks, std::size_t each) {
  std::vector<std::uint8_t> common(masks.begin(),
                                   masks.begin() + static_cast<std::ptrdiff_t>(each));
  for (std::size_t first = each; first < masks.size(); first += each)
    for (std::size_t i = 0; i < each; ++i) common[i] &= masks[first + i];
  return common;
}

}  // namespace

std::int64_t PoseTemplate::edge_squares(const Images& images, std::size_t index, Size size,
                                        Size part) {
  const int left = (size.width - part.width) / 2, top = (size.height - part.height) / 2;
  const std::int64_t each = images.most.area(), plane = std::ssize(images.sums) * each;
  std::int64_t squares = 0;
  for (int i = 0; i < edge_planes; ++i) {
    const std::byte* const pixels = images.pixels.data() + i * plane + std::int64_t(index) * each;
    for (int y = top; y < top + part.height; ++y)
      for (int x = left; x < left + part.width; ++x) {
        const int value = std::to_integer<int>(pixels[std::int64_t{y} * images.most.width + x]);
        squares += (value - no_edge) * (value - no_edge);
      }
  }
  return squares;
}

/// On edges, which need no mask: the size becomes that of the middle that lies in all images, if it
/// leaves each enough of its edges. Then they are searched together, by one kernel.
Result<bool> PoseTemplate::share_middle(std::vector<WarpMap>& maps, Stream stream) const {
  const auto images = images_of(maps, grid_.top(), stream);
  if (!images.ok()) return images.status();
  Size middle = images.value().most;
  for (const WarpMap& map : maps)
    middle = {std::min(middle.width, map.width), std::min(middle.height, map.height)};
  if (middle.empty()) return false;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const Size size{maps[i].width, maps[i].height};
    if (double(edge_squares(images.value(), i, size, middle)) <
        least_common * double(edge_squares(images.value(), i, size, size)))
      return false;
  }
  for (WarpMap& map : maps)
    std::tie(map.width, map.height) = std::pair(middle.width, middle.height);
  return true;
}

/// The images' sizes become that of the part in which something counts in all of them, if they
/// can share their masks.
Result<bool> PoseTemplate::share_mask(std::vector<WarpMap>& maps, Stream stream) const {
  if (edge_rule_) return grid_.top() > 0 ? share_middle(maps, stream) : false;
  // What full size finds is not scored again.
  if (!round_ && grid_.top() == 0) return false;
  const auto images = framed(maps, grid_.top(), stream);
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
  auto made = warped(maps, level, stream);
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
        shared.value()
            ? common
            : part_of({masks.data() + i * each, each}, most.width, {0, 0, size.width, size.height});
    const auto counts = std::ranges::count(mask, 1);
    top.images.push_back(counts > 0 ? std::make_shared<Image>() : nullptr);
    if (counts == 0) continue;  // smaller than a pixel
    const Rect part = counted_part(mask, size);
    mask = part_of(mask, size.width, part);
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
    bank.images.push_back({type_, part.size(), top.images.back(), std::move(mask)});
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

Status PoseTemplate::refresh(const std::vector<bool>& wanted, Stream stream) {
  if (!live_) return {};
  if (const std::uint64_t version = live_->version(); version != version_) {
    if (Status s = live_->order_before(stream); !s.ok()) return s;
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
