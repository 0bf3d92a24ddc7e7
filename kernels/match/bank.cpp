// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/bank.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <numeric>
#include <span>
#include <sstream>
#include <string>
#include <type_traits>

#include <xcorr/correlate.hpp>

#include "match/image.hpp"
#include "stages/match/mask.hpp"

namespace xcorr {
namespace {

Status check_view(const MatrixView& view, std::size_t index) {
  const std::string name = "template " + std::to_string(index);
  if (!view.data || view.size.empty()) return {Code::invalid_argument, name + " is empty"};
  if (view.memory != Memory::host) return {Code::invalid_argument, name + " is not in host memory"};
  if (!is_matched(view.type))
    return {Code::invalid_argument, name + " has elements of type " + name_of(view.type) +
                                        "; templates are of " + matched_types};
  if (Status s = check_rows(view, name); !s.ok()) return s;
  if (Status s = check_color(view, name); !s.ok()) return s;
  if (view.size.area() > max_template_pixels)
    return {Code::invalid_argument, name + " has more than 11.9 million pixels"};
  if (view.type == ElementType::u16 && view.size.area() > max_u16_pixels)
    return {Code::invalid_argument,
            name + " of u16 has more than 2097152 pixels: larger ones are matched as f32"};
  return {};
}

Status check_types(std::span<const BankTemplate> bank) {
  for (const BankTemplate& t : bank)
    if (t.type != bank.front().type)
      return {Code::invalid_argument, "templates of different element types"};
  return {};
}

Status check_mask(const MatrixView& mask, Size size, std::size_t index) {
  const std::string name = "the mask of template " + std::to_string(index);
  const auto text_of = [](Size s) {
    return std::to_string(s.width) + "x" + std::to_string(s.height);
  };
  if (mask.type != ElementType::u8)
    return {Code::invalid_argument,
            name + " has elements of type " + name_of(mask.type) + "; masks are of u8"};
  if (mask.memory != Memory::host) return {Code::invalid_argument, name + " is not in host memory"};
  if (mask.size != size)
    return {Code::invalid_argument,
            name + " has " + text_of(mask.size) + " pixels, the template " + text_of(size)};
  return check_rows(mask, name);
}

/// The floats in bytes of f32.
template <class Bytes>
auto floats_in(Bytes& bytes) {
  using Float = std::conditional_t<std::is_const_v<Bytes>, const float, float>;
  return std::span(reinterpret_cast<Float*>(bytes.data()), bytes.size() / sizeof(float));
}

/// The largest pixel that counts may not be beyond these, unless it is 0: the products of the
/// 11.9 million of a template are added up in single precision.
constexpr float least_float = 1e-18F, greatest_float = 1e15F;

/// The largest magnitude of pixels that count; infinite where one is not finite, which would be the
/// end of every score.
float greatest(const std::vector<std::byte>& planes, const BankTemplate& t) {
  float most = 0;
  const auto pixels = floats_in(planes);
  for (std::size_t i = 0; i < pixels.size(); ++i)
    if (t.mask.empty() || t.mask[i % t.mask.size()])
      most = std::max(most, std::isfinite(pixels[i]) ? std::abs(pixels[i]) : INFINITY);
  return most;
}

Status check_floats(const MatrixView& view, const BankTemplate& t, std::size_t index) {
  if (view.type != ElementType::f32) return {};
  float most = greatest(dense_copy(view), t);
  if (view.has_color()) most = std::max(most, greatest(dense_color(view), t));
  const std::string name = "template " + std::to_string(index);
  if (std::isinf(most))
    return {Code::invalid_argument,
            name + " has pixels that are not finite: masks may leave them out"};
  if (most > 0 && (most < least_float || most > greatest_float)) {
    std::ostringstream text;
    text << name << " has pixels of up to " << most << "; floats are matched from " << least_float
         << " to " << greatest_float << ": scale it and the frames";
    return {Code::invalid_argument, text.str()};
  }
  return {};
}

class HostPixels final : public TemplatePixels {
 public:
  explicit HostPixels(const MatrixView& view) : bytes_(dense_copy(view)) {
    const auto row = static_cast<std::ptrdiff_t>(view.size.width * size_of(view.type));
    const std::size_t luma = bytes_.size();
    if (view.has_color()) {
      const std::vector<std::byte> color = dense_color(view);
      bytes_.insert(bytes_.end(), color.begin(), color.end());
    }
    if (view.type == ElementType::f32)  // those do not count
      std::ranges::replace_if(
          floats_in(bytes_), [](float x) { return !std::isfinite(x); }, 0.0F);
    view_ = {bytes_.data(), view.type, view.size, row};
    for (std::size_t i = 0; view.has_color() && i < color_planes; ++i)
      view_.color[i] = {bytes_.data() + (1 + i) * luma, row};
  }
  HostPixels(const HostPixels&) = delete;
  MatrixView view() const override { return view_; }

 private:
  std::vector<std::byte> bytes_;
  MatrixView view_;
};

class LivePixels final : public TemplatePixels {
 public:
  explicit LivePixels(std::shared_ptr<const LiveTemplate> shared) : shared_(std::move(shared)) {}
  MatrixView view() const override { return shared_->view(); }
  std::uint64_t version() const override { return shared_->version(); }
  Status wait() const override { return shared_->wait(); }
  Status order_before(Stream stream) const override { return shared_->order_before(stream); }

 private:
  std::shared_ptr<const LiveTemplate> shared_;
};

/// A part of others.
class PixelsOfPart final : public TemplatePixels {
 public:
  PixelsOfPart(std::shared_ptr<const TemplatePixels> all, const Rect& part)
      : all_(std::move(all)), part_(part) {}
  MatrixView view() const override {
    MatrixView view = all_->view();
    const auto moved = [&](const void* data, std::ptrdiff_t pitch) {
      return static_cast<const std::byte*>(data) + part_.y * pitch +
             part_.x * static_cast<std::ptrdiff_t>(size_of(view.type));
    };
    view.size = part_.size();
    for (std::size_t i = 0; view.has_color() && i < color_planes; ++i)
      view.color[i].data = moved(view.color[i].data, view.color[i].pitch);
    view.data = moved(view.data, view.pitch);
    return view;
  }
  std::uint64_t version() const override { return all_->version(); }
  Status wait() const override { return all_->wait(); }
  Status order_before(Stream stream) const override { return all_->order_before(stream); }

 private:
  std::shared_ptr<const TemplatePixels> all_;
  Rect part_;
};

/// Adds the masks, of which those without data and those of ones alone mean none.
Status add_masks(std::vector<BankTemplate>& bank, std::span<const MatrixView> masks) {
  if (masks.empty()) return {};
  if (masks.size() != bank.size())
    return {Code::invalid_argument, std::to_string(masks.size()) + " masks for " +
                                        std::to_string(bank.size()) + " templates"};
  for (std::size_t i = 0; i < bank.size(); ++i) {
    if (!masks[i].data) continue;
    if (Status s = check_mask(masks[i], bank[i].size, i); !s.ok()) return s;
    std::vector<std::uint8_t>&mask = bank[i].mask, &weights = bank[i].weights;
    for (const std::byte pixel : dense_copy(masks[i])) {
      weights.push_back(std::to_integer<std::uint8_t>(pixel));
      mask.push_back(pixel != std::byte{0});
    }
    const auto counted = std::count(mask.begin(), mask.end(), 1);
    if (counted == 0)
      return {Code::invalid_argument,
              "the mask of template " + std::to_string(i) + " leaves no pixel"};
    if (counted == std::ssize(mask)) mask.clear();
    if (std::ranges::count(weights, std::ranges::max(weights)) == counted) weights.clear();
  }
  return {};
}

}  // namespace

MatrixView plane_of(const MatrixView& picture, int plane, int planes) {
  MatrixView one = picture;
  if (planes > 1 && picture.has_color()) {
    one.data = picture.color[plane].data;
    one.pitch = picture.color[plane].pitch;
  }
  return one;
}

std::shared_ptr<const TemplatePixels> host_pixels(const MatrixView& view) {
  return std::make_shared<HostPixels>(view);
}

std::span<const std::byte> bytes_of(const TemplatePixels& in_host_memory) {
  const MatrixView view = in_host_memory.view();
  const std::size_t luma = view.size.area() * size_of(view.type);
  return {static_cast<const std::byte*>(view.data), view.has_color() ? 4 * luma : luma};
}

Result<std::vector<BankTemplate>> make_bank(std::span<const MatrixView> views,
                                            std::span<const MatrixView> masks) {
  std::vector<BankTemplate> bank;
  for (const MatrixView& view : views) {
    if (Status status = check_view(view, bank.size()); !status.ok()) return status;
    bank.push_back({view.type, view.size, host_pixels(view)});
  }
  if (Status status = check_types(bank); !status.ok()) return status;
  if (Status status = add_masks(bank, masks); !status.ok()) return status;
  for (std::size_t i = 0; i < bank.size(); ++i)
    if (Status status = check_floats(views[i], bank[i], i); !status.ok()) return status;
  return bank;
}

Result<std::vector<BankTemplate>> make_bank(
    std::span<const std::shared_ptr<const LiveTemplate>> templates, const Device& device,
    std::span<const MatrixView> masks) {
  std::vector<BankTemplate> bank;
  for (const auto& live : templates) {
    const std::string name = "template " + std::to_string(bank.size());
    if (!live) return Status(Code::invalid_argument, name + " is missing");
    if (live->device().backend != device.backend || live->device().ordinal != device.ordinal)
      return Status(Code::invalid_argument, name + " lives on another device");
    bank.push_back(
        {live->view().type, live->view().size, std::make_shared<LivePixels>(live), {}, live});
  }
  if (Status status = check_types(bank); !status.ok()) return status;
  if (Status status = add_masks(bank, masks); !status.ok()) return status;
  return bank;
}

std::vector<BankTemplate> trimmed(std::span<const BankTemplate> bank) {
  std::vector<BankTemplate> made(bank.begin(), bank.end());
  for (BankTemplate& t : made) {
    if (t.mask.empty()) continue;
    const Size size = t.size;
    const Rect part = counted_part(t.mask, size);
    if (part.size() == size) continue;
    t.whole = {-part.x, -part.y, size.width, size.height};
    t.size = part.size();
    t.pixels = std::make_shared<PixelsOfPart>(t.pixels, part);
    if (!t.weights.empty()) t.weights = part_of(t.weights, size.width, part);
    t.mask = part_of(t.mask, size.width, part);
    if (std::ranges::count(t.mask, 0) == 0) t.mask.clear();
  }
  return made;
}

bool compare_trimmed(const MatchSettings& settings, Size frame) {
  return !is_on_edges(settings.match_on) && !(settings.prefilter_sigma > 0) &&
         !(settings.confirm_threshold > 0) &&
         searched_region(frame, settings.search_region).size() == frame;
}

namespace {

/// Of the weights of a Gaussian in the middle of an interval, the share inside.
double share_inside(int length, double sigma) {
  return std::erf(length / (2 * std::numbers::sqrt2 * sigma));
}

Status check_smoothed(const BankTemplate& t, std::size_t index, double sigma) {
  if (survives_prefilter(t.size, sigma)) return {};
  char text[160];
  std::snprintf(text, sizeof text,
                "template %zu of %dx%d pixels is flat after smoothing by a prefilter_sigma of %g: "
                "take a smaller one, or a larger template",
                index, t.size.width, t.size.height, sigma);
  return {Code::invalid_argument, text};
}

}  // namespace

/// Smoothed, a small template is all but a slope, which other slopes are like: even its middle is
/// made mostly of what lies outside, where a frame has something else than its repeated edges.
bool survives_prefilter(Size size, double sigma) {
  constexpr double least = 0.5;
  return !(sigma > 0) ||
         share_inside(size.width, sigma) * share_inside(size.height, sigma) >= least;
}

Status check_bank(const std::vector<BankTemplate>& bank, const MatchSettings& settings) {
  for (std::size_t i = 0; i < bank.size(); ++i)
    if (Status s = check_smoothed(bank[i], i, settings.prefilter_sigma); !s.ok()) return s;
  for (std::size_t i = 0; i < bank.size() && settings.weights; ++i)
    if (!bank[i].weights.empty() && bank[i].size.area() > max_u16_pixels)
      return {Code::invalid_argument, "template " + std::to_string(i) +
                                          " has more than 2097152 pixels, too many with weights"};
  if (settings.match_on != MatchOn::color) return {};
  for (std::size_t i = 0; i < bank.size(); ++i)
    if (bank[i].size.area() > max_template_pixels / color_planes)
      return {Code::invalid_argument, "template " + std::to_string(i) +
                                          " has more than 3.9 million pixels, too many in colour"};
  return {};
}

BankGroups groups_of(const std::vector<BankTemplate>& bank, Size space,
                     const MatchSettings& settings) {
  BankGroups groups;
  for (std::uint32_t i = 0; i < bank.size(); ++i) {
    const Size size = bank[i].size;
    if (size.width <= space.width && size.height <= space.height)
      groups[key_of(bank[i], settings)].push_back(i);
  }
  return groups;
}

namespace {

/// Of lines of pixels, how many at either end have that share of those that count.
int lines_outside(const std::vector<std::int64_t>& counted, double share) {
  const auto all = static_cast<double>(std::accumulate(counted.begin(), counted.end(), 0LL));
  const auto from = [&](auto line, auto end) {
    double outside = 0;
    int lines = 0;
    for (; line != end && (outside += static_cast<double>(*line)) <= share * all; ++line) ++lines;
    return lines;
  };
  return std::max(from(counted.begin(), counted.end()), from(counted.rbegin(), counted.rend()));
}

}  // namespace

Size overhang_of(std::span<const BankTemplate> bank, double share) {
  Size most;
  for (const BankTemplate& t : bank) {
    const auto [width, height] = t.size;
    std::vector<std::int64_t> columns(width, t.mask.empty() ? height : 0),
        rows(height, t.mask.empty() ? width : 0);
    for (std::size_t i = 0; i < t.mask.size(); ++i)
      if (t.mask[i]) {
        ++columns[i % width];
        ++rows[i / width];
      }
    most = {std::max(most.width, lines_outside(columns, share)),
            std::max(most.height, lines_outside(rows, share))};
  }
  return most;
}

}  // namespace xcorr
