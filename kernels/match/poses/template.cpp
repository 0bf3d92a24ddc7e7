// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/poses/template.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

#include "select/select.hpp"
#include "stages/halve.hpp"
#include "stages/score.hpp"

namespace xcorr {
namespace {

/// The most samples of the template that making the pictures of the top level may take: some
/// seconds on a CPU.
constexpr std::int64_t most_samples = std::int64_t{1} << 27;

/// What a picture of the top level must have to show the template: pixels along its shorter side,
/// and a likeness of what it looks like half a pixel away, since matches lie between pixels.
constexpr int least_extent = 12;
constexpr double least_likeness = 0.35;

/// Pictures of a scale share a mask if that leaves them this much of what counts, or less but as
/// many pixels as a disc of 14 has.
constexpr double least_common = 0.6, least_share = 0.3;
constexpr int least_counted = 154;

const std::uint8_t* bytes_of(const std::vector<std::byte>& pixels) {
  return reinterpret_cast<const std::uint8_t*>(pixels.data());
}

/// Twice the distances of the farthest pixel that counts from the centre, plus 1.
Size extent_of(const BankTemplate& t) {
  if (t.mask.empty()) return t.size;
  Size extent{1, 1};
  for (int y = 0; y < t.size.height; ++y)
    for (int x = 0; x < t.size.width; ++x)
      if (t.mask[std::int64_t{y} * t.size.width + x])
        extent = {std::max(extent.width, std::abs(2 * x - t.size.width + 1) + 1),
                  std::max(extent.height, std::abs(2 * y - t.size.height + 1) + 1)};
  return extent;
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

/// What four pixels of the level become, behind it.
template <class Halve>
void append_halved(std::vector<std::uint8_t>& levels, const TemplatePyramid& pyramid, int level,
                   Halve halve) {
  const std::int64_t begin = pyramid.begin_of(level);
  const Size from = pyramid.size_of(level), to = pyramid.size_of(level + 1);
  for (int y = 0; y < to.height; ++y)
    for (int x = 0; x < to.width; ++x) {
      const std::int64_t at = begin + std::int64_t{2 * y} * from.width + 2 * x;
      levels.push_back(
          halve(levels[at], levels[at + 1], levels[at + from.width], levels[at + from.width + 1]));
    }
}

Size most_of(std::span<const TurnMap> maps) {
  Size most;
  for (const TurnMap& map : maps)
    most = {std::max(most.width, map.width), std::max(most.height, map.height)};
  return most;
}

}  // namespace

TemplatePyramid pyramid_of(Size size) {
  constexpr int least = 4, most = 8;
  int halvings = 0;
  while (halvings < most && std::min(size.width, size.height) >> (halvings + 1) >= least)
    ++halvings;
  return {size, halvings};
}

// ---- making ---------------------------------------------------------------------------------

Result<PoseTemplate> PoseTemplate::make(const Device& device, const BankTemplate& t,
                                        const PoseRange& range, Size frame, Stream stream) {
  PoseTemplate made;
  made.device_ = device;
  made.pyramid_ = pyramid_of(t.size);
  made.extent_ = extent_of(t);
  made.round_ = is_disc(t);
  made.masking_.counted = std::count(t.mask.begin(), t.mask.end(), 1);
  auto variant = select_variant<stage::Turn>({made.pyramid_, made.masking_, t.size, 1}, device);
  if (!variant.ok()) return variant.status();
  made.turn_ = variant.value();
  if (Status s = made.load(t, stream); !s.ok()) return s;
  if (Status s = made.load_smoothed(t, stream); !s.ok()) return s;
  if (Status s = made.choose_levels(range, frame, stream); !s.ok()) return s;
  return made;
}

Status PoseTemplate::load(const BankTemplate& t, Stream stream) {
  std::vector<std::uint8_t> pixels(bytes_of(t.pixels), bytes_of(t.pixels) + t.pixels.size());
  std::vector<std::uint8_t> mask = t.mask;
  for (int level = 0; level < pyramid_.halvings; ++level) {
    append_halved(pixels, pyramid_, level, mean_of_four);
    if (masking_)
      append_halved(mask, pyramid_, level,
                    [](int a, int b, int c, int d) { return std::uint8_t(a & b & c & d); });
  }
  if (Status s = upload(device_.backend, pixels_, pixels.data(), pixels.size(), stream); !s.ok())
    return s;
  if (Status s = upload(device_.backend, mask_, mask.data(), mask.size(), stream); !s.ok())
    return s;
  return runtime(device_.backend).wait(stream);
}

Status PoseTemplate::load_smoothed(const BankTemplate& t, Stream stream) {
  const int width = t.size.width;
  const std::vector<std::uint8_t> counted = inset_mask(t.mask, t.size, align_inset);
  std::vector<SmoothedPixel> smoothed(counted.size());
  for (std::size_t i = 0; i < counted.size(); ++i)
    if (counted[i]) smoothed[i] = SmoothedPixel(SplinePixel(bytes_of(t.pixels) + i, width));
  if (Status s = upload(device_.backend, smoothed_, smoothed.data(),
                        smoothed.size() * sizeof(SmoothedPixel), stream);
      !s.ok())
    return s;
  if (Status s = upload(device_.backend, counted_, counted.data(), counted.size(), stream); !s.ok())
    return s;
  return runtime(device_.backend).wait(stream);
}

Status PoseTemplate::choose_levels(const PoseRange& range, Size frame, Stream stream) {
  const double extent = std::min(extent_.width, extent_.height) * range.scale_min;
  const auto fits = [&](int level) {
    return extent / (1 << level) >= least_extent &&
           std::min(frame.width, frame.height) >> level >= least_extent;
  };
  const bool asked = range.pyramid_levels >= 0;
  for (int level = 0; level == 0 || (fits(level) && (!asked || level <= range.pyramid_levels));
       ++level) {
    const PoseGrid grid(range, extent_, round_, level, pyramid_.halvings);
    // A pixel more across and down, and its pixels lie half a pixel away.
    TurnMap maps[2] = {grid.map(level, {}), grid.map(level, {})};
    ++maps[1].width;
    ++maps[1].height;
    auto pictures = turned(maps, stream);
    if (!pictures.ok()) return pictures.status();
    const double like = likeness(pictures.value());
    if (level > 0 && like < least_likeness && !asked) break;
    likeness_.push_back(like);
    grid_ = grid;
    // The pictures of the top level are made once: from a finer level, which takes more samples.
    constexpr int finer = 2;
    top_grid_ = PoseGrid(range, extent_, round_, level,
                         std::min(std::max(level - finer, 0), pyramid_.halvings));
  }
  return {};
}

double PoseTemplate::slack(int level) const {
  constexpr double rest = 0.05;  // of the angle and of rounding
  return level < 0 ? rest : rest + 1 - std::clamp(likeness_[level], 0.0, 1.0);
}

double PoseTemplate::likeness(const Pictures& two) {
  const auto each = static_cast<std::size_t>(two.most.area());
  WindowTerms<std::int64_t> terms{};
  for (std::size_t i = 0; i < each; ++i) {
    if (!two.masks[i] || !two.masks[each + i]) continue;
    const std::int64_t a = two.pixels[i], b = two.pixels[each + i];
    ++terms.n;
    terms.product += a * b;
    terms.left_sum += a;
    terms.left_squares += a * a;
    terms.right_sum += b;
    terms.right_squares += b * b;
  }
  return score(Method::ccoeff_normed, terms);
}

// ---- pictures -------------------------------------------------------------------------------

Status upload(Backend backend, Block& block, const void* from, std::size_t bytes, Stream stream) {
  if (Status s = block.provide(backend, bytes); !s.ok() || bytes == 0) return s;
  return runtime(backend).copy(bytes_copy(block.data(), from, bytes), Memory::host, Memory::device,
                               stream);
}

Status PoseTemplate::download(void* to, const Block& block, std::size_t bytes,
                              Stream stream) const {
  return runtime(device_.backend)
      .copy(bytes_copy(to, block.data(), bytes), Memory::device, Memory::host, stream);
}

Status PoseTemplate::turn(std::span<const TurnMap> maps, Size most, Stream stream) {
  const std::size_t bytes = maps.size() * most.area();
  if (Status s = upload(device_.backend, maps_, maps.data(), maps.size_bytes(), stream); !s.ok())
    return s;
  if (Status s = pictures_.provide(device_.backend, bytes); !s.ok()) return s;
  if (Status s = masks_.provide(device_.backend, bytes); !s.ok()) return s;
  if (Status s = turned_sums_.provide(device_.backend, maps.size() * sizeof(TurnedSums)); !s.ok())
    return s;
  return turn_->launch({pyramid_, masking_, most, static_cast<int>(maps.size())}, device_,
                       {{nullptr, stream},
                        pixels_.as<std::uint8_t>(),
                        masking_ ? mask_.as<std::uint8_t>() : nullptr,
                        maps_.as<TurnMap>(),
                        pictures_.as<std::uint8_t>(),
                        masks_.as<std::uint8_t>(),
                        turned_sums_.as<TurnedSums>()},
                       nullptr);
}

Result<PoseTemplate::Pictures> PoseTemplate::turned(std::span<const TurnMap> maps, Stream stream) {
  Pictures made{most_of(maps), {}, {}, {}};
  const std::size_t bytes = maps.size() * made.most.area();
  if (Status s = turn(maps, made.most, stream); !s.ok()) return s;
  made.pixels.resize(bytes);
  made.masks.resize(bytes);
  made.sums.resize(maps.size());
  if (Status s = download(made.pixels.data(), pictures_, bytes, stream); !s.ok()) return s;
  if (Status s = download(made.masks.data(), masks_, bytes, stream); !s.ok()) return s;
  if (Status s = download(made.sums.data(), turned_sums_, maps.size() * sizeof(TurnedSums), stream);
      !s.ok())
    return s;
  if (Status s = runtime(device_.backend).wait(stream); !s.ok()) return s;
  return made;
}

// ---- the top level --------------------------------------------------------------------------

namespace {

/// The mask that all pictures have in common, of their size.
std::vector<std::uint8_t> common_mask(const std::vector<std::uint8_t>& masks, std::size_t each) {
  std::vector<std::uint8_t> common(masks.begin(),
                                   masks.begin() + static_cast<std::ptrdiff_t>(each));
  for (std::size_t first = each; first < masks.size(); first += each)
    for (std::size_t i = 0; i < each; ++i) common[i] &= masks[first + i];
  return common;
}

/// The part of a picture round its centre that has the size, whose parity must be the picture's.
template <class Pixel>
std::vector<Pixel> middle_of(const std::uint8_t* picture, int pitch, Size whole, Size size) {
  std::vector<Pixel> middle;
  const int left = (whole.width - size.width) / 2, top = (whole.height - size.height) / 2;
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      middle.push_back(Pixel(picture[std::int64_t{top + y} * pitch + left + x]));
  return middle;
}

}  // namespace

Status PoseTemplate::append_scale(int scale, PoseBank& bank, Stream stream) {
  const int level = grid_.top();
  std::vector<TurnMap> maps;
  for (int angle = 0; angle < grid_.angles(level); ++angle)
    maps.push_back(top_grid_.map(level, {angle, scale}));
  // All of one size, so that they have the same centre.
  std::vector<TurnMap> framed = maps;
  const Size most = most_of(maps);
  for (TurnMap& map : framed) std::tie(map.width, map.height) = std::pair(most.width, most.height);
  auto pictures = turned(framed, stream);
  if (!pictures.ok()) return pictures.status();
  const auto each = static_cast<std::size_t>(most.area());
  const std::vector<std::uint8_t> common = common_mask(pictures.value().masks, each);
  const auto counted = static_cast<double>(std::count(common.begin(), common.end(), 1));
  // What full size finds is not scored again.
  const bool shared =
      (round_ || level > 0) && std::ranges::all_of(pictures.value().sums, [&](const TurnedSums& s) {
        return counted >= (counted >= least_counted ? least_share : least_common) * s.counted;
      });
  if (!shared) pictures = turned(maps, stream);
  if (!pictures.ok()) return pictures.status();
  const Size extent = extent_of({ElementType::u8, most, {}, nullptr, common});
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const Size whole = shared ? most : Size{maps[i].width, maps[i].height};
    const Size kept = shared ? extent : whole;
    const std::uint8_t* mask = shared ? common.data() : pictures.value().masks.data() + i * each;
    BankTemplate picture{
        ElementType::u8, kept,
        middle_of<std::byte>(pictures.value().pixels.data() + i * each, most.width, whole, kept),
        nullptr, middle_of<std::uint8_t>(mask, most.width, whole, kept)};
    const auto counts = std::ranges::count(picture.mask, 1);
    if (counts == 0) continue;  // smaller than a pixel
    if (counts == std::ssize(picture.mask)) picture.mask.clear();
    bank.pictures.push_back(std::move(picture));
    bank.poses.push_back({static_cast<int>(i), scale});
  }
  return {};
}

Result<PoseBank> PoseTemplate::top_bank(Stream stream) {
  const int level = grid_.top();
  const std::int64_t poses = std::int64_t{grid_.angles(level)} * grid_.scales(level);
  const TurnMap largest = grid_.map(level, {0, grid_.scales(level) - 1});
  const double samples =
      double(poses) * largest.width * largest.height * (1 << 2 * largest.log2_samples);
  if (samples > double(most_samples))
    return Status(Code::invalid_argument,
                  std::to_string(poses) + " poses of " + std::to_string(largest.width) + "x" +
                      std::to_string(largest.height) +
                      " pixels are too many: take longer steps or more levels");
  PoseBank bank;
  for (int scale = 0; scale < grid_.scales(level); ++scale)
    if (Status s = append_scale(scale, bank, stream); !s.ok()) return s;
  return bank;
}

}  // namespace xcorr
