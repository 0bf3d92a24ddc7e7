// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A match at several poses, coarse to fine. The frame's pyramid is made; in its top level all poses
// are searched as templates of an ordinary match; what that finds is followed down the levels, each
// time by the exact scores of the nearest poses and places; what is left at full size is suppressed
// by overlap and refined by least squares.
#pragma once

#include <optional>
#include <vector>

#include "match/plan.hpp"
#include "match/poses/template.hpp"
#include "stages/halve.hpp"

namespace xcorr {

class PosePlan {
 public:
  /// The templates must be of u8 and not live. Errors: invalid_argument and unsupported name what
  /// cannot be done; out_of_memory, device_error.
  static Result<PosePlan> make(const Device& device, const std::vector<BankTemplate>& bank,
                               Size frame, const MatchSettings& settings, Stream stream);

  /// Adopts settings that need no new plan; false if others differ, too.
  bool adopt(const MatchSettings& settings);

  /// Enqueues the search of the top level; on the CPU all of it. After an error nothing reads the
  /// frame.
  Status enqueue(const MatrixView& frame, Stream stream);

  /// Call after waiting for the stream: does the rest and waits for it.
  Status collect(std::vector<Peak>& peaks, Stream stream);

  ElementType type() const { return ElementType::u8; }
  Size frame() const { return frame_; }
  Size region() const { return region_.size(); }
  const MatchSettings& settings() const { return settings_; }
  /// Where an upright template of that size can lie in the frame.
  Rect places(Size size) const { return places_in(region_, size); }
  const char* kernel() const { return searches_.empty() ? "" : searches_.front().top.kernel(); }

 private:
  /// One template.
  struct Search {
    PoseTemplate templ;
    std::vector<PoseIndex> poses;  ///< of the top level's templates
    MatchPlan top;

    /// The last level: with a single pose there is nothing below full size.
    int lowest() const {
      return templ.grid().turns() || templ.grid().scales() ? PoseGrid::lowest : 0;
    }
  };
  /// A place and a pose at a level.
  struct Found {
    double score, closeness;
    std::int32_t twice_x, twice_y;  ///< twice the coordinates of the centre
    PoseIndex pose;
    bool may_climb = false;  ///< something better may be nearby
  };

  Status make_pyramid(int top);
  Status enqueue_levels(const MatrixView& frame, Stream stream);
  Status finish(Stream stream);
  /// The candidates of the top level, best first.
  std::vector<Found> candidates_of(const Search& search) const;
  /// Moves each that may climb to the best of the poses and places around it.
  Status climb(Search& search, int level, std::vector<Found>& found, Stream stream);
  /// From the level above to this one, where at most so many are kept.
  Status descend(Search& search, int level, std::vector<Found>& found, std::size_t most,
                 Stream stream);
  /// Of candidates at nearly the same place and pose the best, and no more than that many.
  std::vector<Found> distinct(const Search& search, int level, std::vector<Found> found,
                              std::size_t most) const;
  Status append_peaks(std::uint32_t index, Search& search, std::vector<Found> found, Stream stream);
  /// At full size: those that reach the threshold and overlap no better one too much.
  std::vector<Found> suppressed(const Search& search, std::vector<Found> found) const;
  Pose pose_of(const Search& search, const Found& found) const;

  Device device_;
  const Runtime* runtime_ = nullptr;
  Size frame_;
  MatchSettings settings_;
  Rect region_;
  FrameReader reader_;
  const Variant<stage::Halve>* halve_ = nullptr;
  std::vector<Block> halved_;          ///< of level 1 and those above
  std::vector<PyramidLevel> pyramid_;  ///< of the frame that is searched
  std::vector<Search> searches_;
  std::vector<Peak> peaks_;
  bool finished_ = false;
};

}  // namespace xcorr
