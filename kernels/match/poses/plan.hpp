// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A match at several poses, coarse to fine. The frame's pyramid is made; in its top level all poses
// are searched as templates of an ordinary match; what that finds is followed down the levels, each
// time by the exact scores of the nearest poses and places; what is left at full size is refined by
// least squares, scored at the pose that these lead to, and suppressed by overlap.
#pragma once

#include <vector>

#include "match/poses/descent.hpp"
#include "stages/poses/pyramid_down.hpp"

namespace xcorr {

/// What tells how far a pose is from others.
struct PoseParts {
  double angle;      ///< degrees
  double log_scale;  ///< natural
};

class PosePlan {
 public:
  /// The templates must be of u8. Errors: invalid_argument and unsupported name what
  /// cannot be done; out_of_memory, device_error.
  static Result<PosePlan> make(const Device& device, const std::vector<BankTemplate>& bank,
                               ElementType type, Size frame, const MatchSettings& settings,
                               Stream stream);

  /// Adopts settings that need no new plan; false if others differ, too.
  bool adopt(const MatchSettings& settings);

  /// After an error nothing reads the frame.
  Status enqueue(const MatrixView& frame, Stream stream);

  /// Call after waiting for the stream.
  void collect(std::vector<Peak>& peaks) const;

  ElementType type() const { return type_; }
  Size frame() const { return frame_; }
  Size region() const { return region_.size(); }
  const MatchSettings& settings() const { return settings_; }
  /// Whether the template lies wholly inside the searched region at some pose.
  bool fits(std::uint32_t index) const;
  /// Where an upright template of that size can lie in the frame.
  Rect places(Size size) const { return places_in(region_, size); }
  /// An estimate of how long a frame takes.
  double seconds() const { return seconds_; }
  const char* kernel() const { return searches_.empty() ? "" : searches_.front().top.kernel(); }

 private:
  /// One template.
  struct Search {
    PoseTemplate templ;
    MatchPlan top;
    PoseDescent descent;
    std::vector<PoseParts> poses;  ///< of the top's templates
    std::vector<bool> wanted;      ///< which of them are searched
    std::optional<PoseVicinity> selected = {};
  };
  /// A template at a pose, in pixels of the searched region.
  struct Found {
    double score, similarity;
    Pose pose;
    float difference;  ///< see stage::PoseConfirm
  };

  Status add(const BankTemplate& t, const WarpEdges& edges, Stream stream);
  Status make_pyramid();
  /// Of a level of the pyramid.
  Size size_of_level(int level) const;
  /// Whether all that a frame takes can be enqueued by a recording.
  bool can_be_recorded() const;
  Status make_window();
  /// Brings the searched region to the pyramid's level 0.
  Status read(const MatrixView& frame, Stream stream);
  /// Lets the top search the poses of the settings' vicinity alone.
  Status select(Search& search, Stream stream);
  Status enqueue_levels(const MatrixView& frame, Stream stream);
  /// What depends on nothing but the pyramid's level 0, the threshold and what is selected.
  Status enqueue_search(Stream stream);
  Found found_at(const Search& search, const PoseDescent::End& end) const;
  /// Whether least squares lead away from a place at the frame's border: then what is there is part
  /// of something that lies across it, at another pose.
  bool is_cut_off(const Search& search, const PoseDescent::End& end) const;
  /// Those that reach the threshold, differ little enough and overlap no better one too much, best
  /// first.
  std::vector<Found> suppressed(std::vector<Found> found) const;
  Peak peak_of(std::uint32_t index, const Found& found) const;

  double seconds_ = 0;
  Device device_;
  const Runtime* runtime_ = nullptr;
  ElementType type_ = ElementType::u8;
  Size frame_;
  MatchSettings settings_;
  Rect region_;
  FrameReader reader_;
  std::optional<EdgeMaker> edges_;  ///< of the frame
  Rows pixels_{nullptr, 0};         ///< of the searched region, where the pyramid is of its edges
  const Variant<stage::PyramidDown>* pyramid_down_ = nullptr;
  std::vector<Block> halved_;          ///< of level 1 and those above
  std::vector<PyramidLevel> pyramid_;  ///< of the frame that is searched
  std::vector<Search> searches_;
  bool is_recorded_ = false;
  Recording recording_;  ///< of enqueue_search()
  Block window_;         ///< where that reads level 0
};

}  // namespace xcorr
