// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The templates of a matcher: dense copies in host memory, or those that live on the device.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <xcorr/match.hpp>

namespace xcorr {

/// A template in device memory, that may change.
class LivePixels {
 public:
  virtual ~LivePixels() = default;
  virtual MatrixView view() const = 0;
  /// Another one when they have changed.
  virtual std::uint64_t version() const = 0;
  /// Waits for what changes them on another stream.
  virtual Status wait() const { return {}; }
};

struct BankTemplate {
  ElementType type;
  Size size;
  std::vector<std::byte> pixels;  ///< dense; empty: they are in `source`
  std::shared_ptr<const LiveTemplate> live;
  std::shared_ptr<const LivePixels> source = {};  ///< of a live template, or others on the device
  std::vector<std::uint8_t> mask = {};  ///< see stages/match/mask.hpp; empty: all pixels count
  /// Its planes, dense, one after the other; empty: it is gray.
  std::vector<std::byte> color = {};
};

/// A plane of a picture that is compared by so many. A gray one is gray in all of them.
MatrixView plane_of(const MatrixView& picture, int plane, int planes);

/// Of one whose pixels are in host memory.
MatrixView view_of(const BankTemplate& t);

/// Copies the views and the masks, see Matcher::set_templates(). Errors: invalid_argument.
Result<std::vector<BankTemplate>> make_bank(std::span<const MatrixView> views,
                                            std::span<const MatrixView> masks = {});

/// Shares the templates, which must belong to that device, and copies the masks. Errors:
/// invalid_argument.
Result<std::vector<BankTemplate>> make_bank(
    std::span<const std::shared_ptr<const LiveTemplate>> templates, const Device& device,
    std::span<const MatrixView> masks = {});

/// That what is matched on can be of these templates.
Status check_planes(const std::vector<BankTemplate>& bank, const MatchSettings& settings);

/// What templates of a group have in common: their windows and the sums over them.
struct GroupKey {
  int width, height;
  std::vector<std::uint8_t> mask;

  explicit GroupKey(Size size, std::vector<std::uint8_t> mask = {})
      : width(size.width), height(size.height), mask(std::move(mask)) {}
  explicit GroupKey(const BankTemplate& t) : GroupKey(t.size, t.mask) {}
  auto operator<=>(const GroupKey&) const = default;
  Size size() const { return {width, height}; }
};

/// Positions in the bank of the templates that fit into `space`, by group.
using BankGroups = std::map<GroupKey, std::vector<std::uint32_t>>;
BankGroups groups_of(const std::vector<BankTemplate>& bank, Size space);

/// How far any of the templates may stick out of a frame, across and down, if that share of its
/// pixels that count may lie outside.
Size overhang_of(const std::vector<BankTemplate>& bank, double share);

}  // namespace xcorr
