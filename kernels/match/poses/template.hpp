// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A template that is searched at several poses: its pixels on the device, and its pictures at the
// poses of the first pass.
#pragma once

#include <span>
#include <vector>

#include "device/runtime.hpp"
#include "match/bank.hpp"
#include "match/poses/grid.hpp"
#include "stages/align.hpp"

namespace xcorr {

/// A picture of the top level, as a template of a match, and its pose.
struct PoseBank {
  std::vector<BankTemplate> pictures;
  std::vector<PoseIndex> poses;
};

/// Makes the block at least that large and enqueues filling it.
Status upload(Backend backend, Block& block, const void* from, std::size_t bytes, Stream stream);

/// Of a template of that size: halved as often as something is left of it, 4 pixels along a side.
TemplatePyramid pyramid_of(Size size);

class PoseTemplate {
 public:
  /// For frames of that size. Errors: invalid_argument, unsupported (naming what), out_of_memory,
  /// device_error.
  static Result<PoseTemplate> make(const Device& device, const BankTemplate& t,
                                   const PoseRange& range, Size frame, Stream stream);

  const PoseGrid& grid() const { return grid_; }
  Size size() const { return pyramid_.size; }
  /// What a match's score may lose at a level because it lies between pixels and between poses:
  /// what the template itself loses half a pixel away.
  double slack(int level) const;

  /// The pictures of all poses of the top level. Where that leaves most of the template, those of a
  /// scale share the mask that they have in common, which spares sums over windows; what they find
  /// is scored with their own masks after that.
  Result<PoseBank> top_bank(Stream stream);

  /// On the device: what the stages read. Pixels and mask are those of the pyramid.
  const TemplatePyramid& pyramid() const { return pyramid_; }
  const std::uint8_t* pixels() const { return pixels_.as<std::uint8_t>(); }
  const std::uint8_t* mask() const { return masking_ ? mask_.as<std::uint8_t>() : nullptr; }
  const Masking& masking() const { return masking_; }
  const SmoothedPixel* smoothed() const { return smoothed_.as<SmoothedPixel>(); }
  const std::uint8_t* counted() const { return counted_.as<std::uint8_t>(); }

 private:
  /// Pictures on the host, each of the size `most`.
  struct Pictures {
    Size most;
    std::vector<std::uint8_t> pixels, masks;
    std::vector<TurnedSums> sums;
  };

  Status load(const BankTemplate& t, Stream stream);
  Status load_smoothed(const BankTemplate& t, Stream stream);
  /// Up to the highest one at which pictures still show the template, unless the range says how
  /// many.
  Status choose_levels(const PoseRange& range, Size frame, Stream stream);
  /// The correlation of two pictures over the pixels that count in both.
  static double likeness(const Pictures& two);
  /// Enqueues making pictures in device memory.
  Status turn(std::span<const TurnMap> maps, Size most, Stream stream);
  Result<Pictures> turned(std::span<const TurnMap> maps, Stream stream);
  Status append_scale(int scale, PoseBank& bank, Stream stream);
  Status download(void* to, const Block& block, std::size_t bytes, Stream stream) const;

  Device device_;
  TemplatePyramid pyramid_;
  Size extent_;         ///< of what counts, round the centre
  bool round_ = false;  ///< what counts is a disc
  Masking masking_;
  PoseGrid grid_, top_grid_;
  std::vector<double> likeness_;  ///< of each level with itself half a pixel away
  const Variant<stage::Turn>* turn_ = nullptr;
  Block pixels_, mask_, smoothed_, counted_;
  /// Of a call.
  Block maps_, pictures_, masks_, turned_sums_;
};

}  // namespace xcorr
