// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/edges.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>

#include "select/select.hpp"

namespace xcorr {
namespace {

/// A template of fewer edges would match anything.
constexpr std::int64_t least_edges = 16;
/// Of so many, or such a share of the pixels, no place elsewhere has the most part by chance.
constexpr double many_edges = 1024, large_share = 0.02;
/// Of the contrast that edges of templates have: what those of frames need, since a part may show
/// with less of it, and what is taken of a template with few edges.
constexpr double in_frames = 0.5, of_few[] = {2.0 / 3, in_frames};
/// An edge is so many times as strong as the gradient that noise has, whose standard deviation is
/// this share of the pixels'.
constexpr double least_to_noise = 4, noise_in_gradient = 0.207;

std::string text_of(double number) {
  std::string text = std::to_string(number);
  text.erase(text.find_last_not_of('0') + 1);
  return text.back() == '.' ? text.substr(0, text.size() - 1) : text;
}

/// The luma of all its pixels that count, if its mask says more of it than they do.
/// \param planes  that are compared
std::optional<std::byte> ink_of(const BankTemplate& t, int planes) {
  if (t.live || t.mask.empty() || t.type != ElementType::u8) return std::nullopt;
  const auto first = std::ranges::find(t.mask, 1) - t.mask.begin();
  for (int plane = 0; plane < planes; ++plane) {
    const auto* const pixels =
        static_cast<const std::byte*>(plane_of(t.pixels->view(), plane, planes).data);
    for (std::size_t i = 0; i < t.mask.size(); ++i)
      if (t.mask[i] && pixels[i] != pixels[first]) return std::nullopt;
  }
  return bytes_of(*t.pixels)[first];
}

/// Its mask in that ink on what contrasts with it, which goes on round it as far as an edge needs.
std::vector<std::byte> outline_of(const BankTemplate& t, std::byte ink, Size picture) {
  const std::byte ground{ink < std::byte{128} ? std::uint8_t{255} : std::uint8_t{0}};
  std::vector<std::byte> made(static_cast<std::size_t>(picture.area()), ground);
  for (int y = 0; y < t.size.height; ++y)
    for (int x = 0; x < t.size.width; ++x)
      if (t.mask[std::int64_t{y} * t.size.width + x])
        made[(y + edge_radius) * std::int64_t{picture.width} + x + edge_radius] = ink;
  return made;
}

/// Of that share of the contrast that edges of templates have.
EdgeRule edge_rule(const MatchSettings& settings, double share, bool inverted) {
  const double least = share * settings.edge_contrast * edge_unit;
  return {static_cast<std::int32_t>(std::max(1L, std::lround(least * least))),
          settings.polarity == Polarity::either, inverted};
}

/// Of what counts in a template, from above: the standard deviation by the differences of second
/// order, which are 0 where the picture is smooth (Immerkaer 1996).
double noise_of(const BankTemplate& t, int planes) {
  double most = 0;
  for (int plane = 0; plane < planes; ++plane) {
    const auto* const pixels =
        static_cast<const std::uint8_t*>(plane_of(t.pixels->view(), plane, planes).data);
    double sum = 0, count = 0;
    for (int y = 1; y < t.size.height - 1; ++y)
      for (int x = 1; x < t.size.width - 1; ++x) {
        const std::int64_t at = std::int64_t{y} * t.size.width + x;
        if (!t.mask.empty() && !t.mask[at]) continue;
        const auto bent = [&](std::int64_t i) {
          return pixels[i - 1] - 2 * pixels[i] + pixels[i + 1];
        };
        sum += std::abs(bent(at - t.size.width) - 2 * bent(at) + bent(at + t.size.width));
        ++count;
      }
    constexpr double of_one = 6;  // root of the sum of the squares of what it is multiplied by
    most = std::max(most, std::sqrt(std::numbers::pi / 2) / of_one * sum / std::max(count, 1.0));
  }
  return most;
}

}  // namespace

EdgeRule frame_edge_rule(const MatchSettings& settings) {
  return edge_rule(settings, in_frames, false);
}

// ---- making ---------------------------------------------------------------------------------

Result<EdgeMaker> EdgeMaker::make(const Device& device, Size image, Size region,
                                  const EdgeRule& rule, int planes, bool masked) {
  EdgeMaker m;
  m.device_ = device;
  m.image_ = image;
  stage::Edges::Problem& p = m.problem_;
  p.region = {0, 0, region.width, region.height};
  p.rule = rule;
  p.masked = masked;
  p.edge_pitch = padded_pitch(region.width);
  p.edge_plane = p.edge_pitch * region.height;
  p.size = m.max_read();
  p.pitch = padded_pitch(p.size.width);
  p.planes = planes;
  p.plane = p.pitch * p.size.height;
  auto variant = select_variant<stage::Edges>(p, device);
  if (!variant.ok()) return variant.status();
  m.variant_ = variant.value();
  auto edges = Block::make(device.backend, edge_planes * p.edge_plane);
  if (!edges.ok()) return edges.status();
  m.edges_ = std::move(edges.value());
  auto workspace = Block::make(device.backend, m.variant_->workspace_bytes(p, device));
  if (!workspace.ok()) return workspace.status();
  m.workspace_ = std::move(workspace.value());
  return m;
}

Rect EdgeMaker::reads(const Rect& region) const {
  return surroundings(region, edge_radius, image_);
}

Size EdgeMaker::max_read() const {
  return largest_surroundings(problem_.region.size(), edge_radius, image_);
}

Result<Rows> EdgeMaker::run(const Rows& pixels, const Rect& region, Stream stream,
                            const std::uint8_t* mask) {
  const Rect read = reads(region);
  stage::Edges::Problem p = problem_;
  p.size = read.size();
  p.pitch = pixels.pitch;
  p.plane = pixels.plane;
  p.region = {region.x - read.x, region.y - read.y, region.width, region.height};
  const Rows edges{edges_.as<std::uint8_t>(), p.edge_pitch, p.edge_plane};
  if (Status s = variant_->launch(
          p, device_, {{workspace_.data(), stream}, pixels.data, mask, edges_.as<std::uint8_t>()},
          nullptr);
      !s.ok())
    return s;
  return edges;
}

// ---- templates ------------------------------------------------------------------------------

Result<std::shared_ptr<EdgeTemplate>> EdgeTemplate::make(const Device& device,
                                                         const BankTemplate& t,
                                                         const MatchSettings& settings,
                                                         Stream stream) {
  const auto with_share = [&](double share) {
    return with(edge_rule(settings, share, settings.polarity == Polarity::inverted), device, t,
                settings, stream);
  };
  auto made = with_share(1);
  // What changes may show more of them at any time.
  if (!made.ok() || t.live || t.type != ElementType::u8) return made;
  const auto counted = double(t.mask.empty() ? t.size.area() : std::ranges::count(t.mask, 1));
  const double enough = std::min(many_edges, large_share * counted);
  for (const double share : of_few) {
    const auto count = made.value()->count(stream);
    if (!count.ok()) return count.status();
    if (double(count.value()) >= enough ||
        share * settings.edge_contrast <
            least_to_noise * noise_in_gradient * noise_of(t, made.value()->planes_))
      break;
    made = with_share(share);
    if (!made.ok()) break;
  }
  return made;
}

Result<std::shared_ptr<EdgeTemplate>> EdgeTemplate::with(const EdgeRule& rule, const Device& device,
                                                         const BankTemplate& t,
                                                         const MatchSettings& settings,
                                                         Stream stream) {
  auto made = std::make_shared<EdgeTemplate>();
  made->device_ = device;
  made->rule_ = rule;
  made->size_ = made->picture_ = t.size;
  made->source_ = t.pixels;
  // Of a gray one its gray is all there is.
  const bool in_color = is_in_color(settings.match_on) && t.pixels->view().has_color();
  const auto ink = ink_of(t, in_color ? color_planes : 1);
  made->planes_ = in_color && !ink ? color_planes : 1;
  if (ink) made->picture_ = {t.size.width + 2 * edge_radius, t.size.height + 2 * edge_radius};
  auto maker = EdgeMaker::make(device, made->picture_, t.size, rule, made->planes_, !ink);
  if (!maker.ok()) return maker.status();
  made->maker_ = std::move(maker.value());
  if (settings.prefilter_sigma > 0) {
    auto filter = Prefilter::make(device, t.type, made->picture_, made->picture_,
                                  settings.prefilter_sigma, made->planes_);
    if (!filter.ok()) return filter.status();
    made->prefilter_ = std::move(filter.value());
  }
  if (Status s = made->load(t, ink, stream); !s.ok()) return s;
  return made;
}

/// Of what does not change, and the edges.
Status EdgeTemplate::load(const BankTemplate& t, std::optional<std::byte> ink, Stream stream) {
  std::vector<std::byte> drawn;
  std::vector<std::uint8_t> inset;
  if (ink)
    drawn = outline_of(t, *ink, picture_);
  else
    inset = inset_mask(t.mask, t.size, edge_radius);
  if (t.live) {
    if (Status s = t.pixels->wait(); !s.ok()) return s;
  } else {
    const std::span<const std::byte> bytes = ink ? drawn : bytes_of(*t.pixels);
    if (Status s = upload(device_.backend, copied_, bytes.data(), bytes.size(), stream); !s.ok())
      return s;
  }
  if (!ink)
    if (Status s = upload(device_.backend, mask_, inset.data(), inset.size(), stream); !s.ok())
      return s;
  if (Status s = refresh(stream); !s.ok()) return s;
  // `inset` and `drawn` end here.
  return runtime(device_.backend).wait(stream);
}

Status EdgeTemplate::refresh(Stream stream) {
  const bool is_new = !edges_.data;
  if (!is_new && source_->version() == version_) return {};
  if (Status s = make_edges(source_rows(), stream); !s.ok()) return s;
  version_ = source_->version();
  return {};
}

/// Of the luma or the planes of colour, which lie at equal distances.
Rows EdgeTemplate::source_rows() const {
  const auto at = [&](int plane) {
    return static_cast<const std::uint8_t*>(plane_of(source_->view(), plane, planes_).data);
  };
  const std::ptrdiff_t plane = planes_ > 1 ? at(1) - at(0) : 0;
  if (!copied_.data()) return {at(0), source_->view().pitch, plane};
  const auto* const luma = static_cast<const std::uint8_t*>(source_->view().data);
  return {copied_.as<std::uint8_t>() + (at(0) - luma), picture_.width, plane};
}

Status EdgeTemplate::make_edges(Rows pixels, Stream stream) {
  if (prefilter_) {
    const auto smoothed = prefilter_->run(pixels, {0, 0, picture_.width, picture_.height}, stream);
    if (!smoothed.ok()) return smoothed.status();
    pixels = smoothed.value();
  }
  const Rect own{(picture_.width - size_.width) / 2, (picture_.height - size_.height) / 2,
                 size_.width, size_.height};
  const auto edges = maker_->run(pixels, own, stream, mask_.as<std::uint8_t>());
  if (edges.ok()) edges_ = edges.value();
  return edges.status();
}

MatrixView EdgeTemplate::view() const {
  MatrixView view{edges_.data, ElementType::u8, size_, edges_.pitch, Memory::device};
  for (int i = 0; i < edge_planes; ++i)
    view.color[i] = {edges_.data + i * edges_.plane, edges_.pitch};
  return view;
}

Result<std::int64_t> EdgeTemplate::count(Stream stream) const {
  std::vector<std::uint8_t> edges(edge_planes * edges_.plane);
  const Runtime& device = runtime(device_.backend);
  if (Status s = device.copy(bytes_copy(edges.data(), edges_.data, edges.size()), Memory::device,
                             Memory::host, stream);
      !s.ok())
    return s;
  if (Status s = device.wait(stream); !s.ok()) return s;
  std::int64_t count = 0;
  for (int y = 0; y < size_.height; ++y)
    for (std::int64_t i = y * edges_.pitch; i < y * edges_.pitch + size_.width; ++i)
      count += edges[i] != no_edge || edges[i + edges_.plane] != no_edge;
  return count;
}

Status enough_edges(std::size_t index, double scale, std::int64_t count, const EdgeRule& rule) {
  if (count >= least_edges) return {};
  return {Code::invalid_argument,
          "template " + std::to_string(index) + " has too few edges" +
              (scale == 1 ? "" : " at scale " + text_of(scale)) + ", " + std::to_string(count) +
              " pixels: gradients of at least " +
              text_of(std::round(1000 * std::sqrt(rule.least) / edge_unit) / 1000) +
              " gray levels a pixel count, " + std::to_string(edge_radius) +
              " pixels or more from its border and its mask's"};
}

Result<EdgeBank> EdgeBank::make(const Device& device, const std::vector<BankTemplate>& bank,
                                const MatchSettings& settings, Stream stream) {
  EdgeBank made;
  for (std::size_t i = 0; i < bank.size(); ++i) {
    const BankTemplate& t = bank[i];
    auto edges = EdgeTemplate::make(device, t, settings, stream);
    if (!edges.ok()) return edges.status();
    const auto count = edges.value()->count(stream);
    if (!count.ok()) return count.status();
    if (Status s = enough_edges(i, 1, count.value(), edges.value()->rule()); !s.ok()) return s;
    made.bank_.push_back({t.type, t.size, edges.value()});
    made.templates_.push_back(std::move(edges.value()));
  }
  return made;
}

Status EdgeBank::refresh(Stream stream) {
  for (const auto& each : templates_)
    if (Status s = each->refresh(stream); !s.ok()) return s;
  return {};
}

}  // namespace xcorr
