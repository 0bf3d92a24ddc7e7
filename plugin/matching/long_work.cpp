// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/long_work.h"

#include <cmath>
#include <sstream>

namespace cudaxcorr {

std::string text_of_work(double seconds, const xcorr::Budget& budget, const char* what) {
  constexpr double long_since = 1;
  if (budget.max_work >= 0 || !(seconds > long_since)) return "";
  std::ostringstream text;
  text << "A frame takes about " << std::exp2(std::round(std::log2(seconds)))
       << " s on this device, by an estimate, for the " << what
       << "; 'max-work' refuses what takes longer than it says";
  return text.str();
}

}  // namespace cudaxcorr
