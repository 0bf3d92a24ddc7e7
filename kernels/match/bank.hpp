// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The templates of a matcher. Their pixels have one owner, whatever shares the templates: a dense
// copy in host memory, or what lives on the device.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <xcorr/match.hpp>

namespace xcorr {

/// A template's pixels, dense: in host memory for good, or in device memory, where they may change.
class TemplatePixels {
 public:
  virtual ~TemplatePixels() = default;
  virtual MatrixView view() const = 0;
  /// Another one when they have changed.
  virtual std::uint64_t version() const { return 0; }
  /// Waits for what changes them on another stream.
  virtual Status wait() const { return {}; }
  /// What is enqueued on that stream from now on runs after it.
  virtual Status order_before(Stream) const { return {}; }
};

struct BankTemplate {
  ElementType type;
  Size size;
  std::shared_ptr<const TemplatePixels> pixels;
  std::vector<std::uint8_t> mask = {};  ///< see stages/match/mask.hpp; empty: all pixels count
  std::shared_ptr<const LiveTemplate> live = {};  ///< whose pixels they are
  /// Where the template lies that this is the part of which counts, from its corner; empty: this is
  /// all of it.
  Rect whole = {};
  /// How often each pixel counts; empty where those that do all count alike.
  std::vector<std::uint8_t> weights = {};

  Rect reported() const { return whole.empty() ? Rect{0, 0, size.width, size.height} : whole; }
};

/// Owns a copy.
std::shared_ptr<const TemplatePixels> host_pixels(const MatrixView& view);
/// The bytes of such a copy: its luma, then the planes of its colour, if it has any.
std::span<const std::byte> bytes_of(const TemplatePixels& in_host_memory);

/// Sets the templates of a matcher, checked before, whose pixels others may share.
struct SharedBank {
  static Status give(Matcher& matcher, std::vector<BankTemplate> bank);
};

/// A plane of a picture that is compared by so many. A gray one is gray in all of them.
MatrixView plane_of(const MatrixView& picture, int plane, int planes);

/// Copies the views and the masks, see Matcher::set_templates(). Errors: invalid_argument.
Result<std::vector<BankTemplate>> make_bank(std::span<const MatrixView> views,
                                            std::span<const MatrixView> masks = {});

/// Shares the templates, which must belong to that device, and copies the masks. Errors:
/// invalid_argument.
Result<std::vector<BankTemplate>> make_bank(
    std::span<const std::shared_ptr<const LiveTemplate>> templates, const Device& device,
    std::span<const MatrixView> masks = {});

/// Without the rows and columns at the borders in which nothing counts. What is compared stays the
/// same, in less time, and by kernels that know no masks where all of the rest counts.
std::vector<BankTemplate> trimmed(std::span<const BankTemplate> bank);
/// Whether upright searches compare such templates. Edges and what is smoothed depend on pixels
/// that do not count, the squares of stage::Confirm on the template's corner, and in a part of the
/// frame all of a template lies inside.
bool compare_trimmed(const MatchSettings& settings, Size frame);

/// That what is matched on, or weighed, can be of these templates.
Status check_bank(const std::vector<BankTemplate>& bank, const MatchSettings& settings);

/// What templates of a group have in common: their windows and the sums over them, and how far
/// their peaks suppress others.
struct GroupKey {
  int width, height;
  std::vector<std::uint8_t> mask;
  int whole_width = width, whole_height = height;  ///< see BankTemplate::whole

  explicit GroupKey(Size size, std::vector<std::uint8_t> mask = {})
      : width(size.width), height(size.height), mask(std::move(mask)) {}
  explicit GroupKey(const BankTemplate& t) : GroupKey(t.size, t.mask) {
    whole_width = t.reported().width;
    whole_height = t.reported().height;
  }
  auto operator<=>(const GroupKey&) const = default;
  Size size() const { return {width, height}; }
  Size whole() const { return {whole_width, whole_height}; }
};

/// That of a template where it is matched. Edges have no mask: there are none outside it.
inline GroupKey key_of(const BankTemplate& t, const MatchSettings& settings) {
  if (is_on_edges(settings.match_on)) return GroupKey(t.size);
  GroupKey key(t);
  if (settings.weights && !t.weights.empty()) key.mask = t.weights;
  return key;
}

/// Positions in the bank of the templates that fit into `space`, by group.
using BankGroups = std::map<GroupKey, std::vector<std::uint32_t>>;
BankGroups groups_of(const std::vector<BankTemplate>& bank, Size space,
                     const MatchSettings& settings);

/// The share of an upright template's pixels that count which may lie outside the frame; below 0:
/// it lies inside as it is. So do edges and what has weights.
inline double upright_overhang(const MatchSettings& settings) {
  return is_on_edges(settings.match_on) || settings.weights ? -1 : settings.overhang;
}
/// How far any of the templates may stick out of a frame, across and down, if that share of its
/// pixels that count may lie outside.
Size overhang_of(std::span<const BankTemplate> bank, double share);

}  // namespace xcorr
