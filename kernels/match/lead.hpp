// SPDX-License-Identifier: LGPL-2.1-or-later
//
// When a group of templates is searched by its lead plane first, see stage::Search::Problem.
#pragma once

#include <span>

namespace xcorr {

class LeadChoice {
 public:
  /// Whether the next frame is searched so: not for a while once most was left open, of which the
  /// lead's products are made for nothing. \param open_shares  of the templates, as the last such
  /// frame left them; 0 before the first
  bool next(std::span<float> open_shares);

 private:
  int without_ = 0;  ///< frames to come
};

}  // namespace xcorr
