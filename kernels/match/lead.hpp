// SPDX-License-Identifier: LGPL-2.1-or-later
//
// When a group of templates is searched by its lead plane first, see stage::Search::Problem.
#pragma once

#include <span>

namespace xcorr {

class LeadChoice {
 public:
  /// Whether the next frame is searched so: not for a while once much was left open, of which the
  /// lead's products are made for nothing; the longer, the more often that was so. Then one frame
  /// is tried, and those enqueued before its results are known go on without.
  /// \param open_shares  of the templates, as the last such frame left them; 0 before the first,
  /// below 0 those that do not count
  /// \param searched  how many count
  bool next(std::span<float> open_shares, int searched);

 private:
  static constexpr int least_pause = 15, most_pause = 240;  ///< frames

  bool tries_ = false;  ///< one frame
  int awaited_ = 0;     ///< frames since then, while its results are not known
  int without_ = 0;     ///< frames to come
  int pause_ = least_pause;
};

}  // namespace xcorr
