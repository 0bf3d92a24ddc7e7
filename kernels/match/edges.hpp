// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What MatchOn::edges and color_edges compare: the edges of the searched part of a frame, using the
// surrounding pixels, and those of the templates, which take the place of their pixels.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "match/bank.hpp"
#include "match/frame_reader.hpp"
#include "match/prefilter.hpp"
#include "stages/image/edges.hpp"

namespace xcorr {

class EdgeMaker {
 public:
  /// For regions of that size, anywhere in images of that size and of so many planes.
  static Result<EdgeMaker> make(const Device& device, Size image, Size region, const EdgeRule& rule,
                                int planes = 1, bool masked = false);

  /// The part of an image that is read to make the edges of a region.
  Rect reads(const Rect& region) const;
  /// The size of the largest such part.
  Size max_read() const;

  /// Enqueues the making of the region's edges; `pixels` are those of reads(region). The planes
  /// stay valid until the next call.
  Result<Rows> run(const Rows& pixels, const Rect& region, Stream stream,
                   const std::uint8_t* mask = nullptr);

 private:
  Device device_;
  Size image_;
  stage::Edges::Problem problem_;  ///< its image and region are set by run()
  const Variant<stage::Edges>* variant_ = nullptr;
  Block edges_, workspace_;
};

/// A template's edges in the place of its pixels. Those within edge_radius of its border or its
/// mask's do not count, since what lies beyond is unknown. But where all pixels that count are
/// alike, as those of a glyph of one colour, its edges are the mask's outline.
class EdgeTemplate final : public TemplatePixels {
 public:
  /// Where few of its edges have the contrast of the settings, weaker ones count as well.
  static Result<std::shared_ptr<EdgeTemplate>> make(const Device& device, const BankTemplate& t,
                                                    const MatchSettings& settings, Stream stream);

  /// Enqueues the making of its edges, if its pixels have changed.
  Status refresh(Stream stream);
  /// Waits, and counts its pixels that are edges.
  Result<std::int64_t> count(Stream stream) const;
  /// Which those are.
  const EdgeRule& rule() const { return rule_; }

  MatrixView view() const override;
  std::uint64_t version() const override { return version_; }

 private:
  static Result<std::shared_ptr<EdgeTemplate>> with(const EdgeRule& rule, const Device& device,
                                                    const BankTemplate& t,
                                                    const MatchSettings& settings, Stream stream);
  Rows source_rows() const;
  Status make_edges(Rows pixels, Stream stream);
  /// \param ink  where the edges are the mask's outline: of the pixels that count
  Status load(const BankTemplate& t, std::optional<std::byte> ink, Stream stream);

  Device device_;
  EdgeRule rule_;
  Size size_, picture_;  ///< of the edges, and of the pixels that they are made of
  std::shared_ptr<const TemplatePixels> source_;
  int planes_ = 1;  ///< of the pixels
  Block copied_;    ///< of a source in host memory
  Block mask_;
  std::optional<Prefilter> prefilter_;
  std::optional<EdgeMaker> maker_;
  Rows edges_{nullptr, 0};
  std::uint64_t version_ = 0;
};

/// The templates of a bank, by their edges.
class EdgeBank {
 public:
  /// Errors: invalid_argument for a template of too few edges, which it names.
  static Result<EdgeBank> make(const Device& device, const std::vector<BankTemplate>& bank,
                               const MatchSettings& settings, Stream stream);

  const std::vector<BankTemplate>& bank() const { return bank_; }
  const EdgeRule& rule(std::size_t index) const { return templates_[index]->rule(); }
  /// Enqueues the making of what has changed.
  Status refresh(Stream stream);

 private:
  std::vector<BankTemplate> bank_;
  std::vector<std::shared_ptr<EdgeTemplate>> templates_;
};

/// Whether a template, at that scale, has so many pixels of edges that not anything would match.
/// Errors: invalid_argument, which names it.
Status enough_edges(std::size_t index, double scale, std::int64_t count, const EdgeRule& rule);

/// Of frames.
EdgeRule frame_edge_rule(const MatchSettings& settings);

}  // namespace xcorr
