// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/poses/cost.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "device/memory_limit.hpp"
#include "match/cost.hpp"

namespace xcorr {
namespace {

/// Scores that a level below the top takes, about: candidates, places, and poses of each.
constexpr double rescored = 64 * 9, poses = 27;

double descent_seconds(const PoseTemplate& templ, const Device& device) {
  double products = 0;
  for (int level = 0; level < templ.grid().top(); ++level)
    products += rescored * std::max<double>(poses, templ.steps_below(level).neighbours()) *
                static_cast<double>(templ.grid().most(level).area());
  return products * templ.planes() / speed_of(device, templ.type()).products;
}

}  // namespace

Result<double> pose_search_cost(const PoseTemplate& templ, Size region, const Device& device,
                                const Budget& budget, double before) {
  const int level = templ.grid().top();
  const std::int64_t poses = templ.images_of_top(templ.grid());
  const Size most = templ.grid().most(level);
  const std::string what = "the search for " + std::to_string(poses) + " poses of up to " +
                           std::to_string(most.width) + "x" + std::to_string(most.height) +
                           " pixels";
  // Images and masks as they are made, on the device and the host; then the templates of the search
  // and their operands. Masks that differ are kept for each, and with a margin.
  const auto element = static_cast<double>(size_of(templ.type()));
  const bool shares = level > 0;
  const double each = 2 * (element + 1) + 2 * element + (shares ? 0 : 3);
  const double bytes = static_cast<double>(poses) * static_cast<double>(most.area()) * each;
  if (Status s = MemoryLimit::check(bytes, what); !s.ok()) return s;

  const double share = std::ldexp(1.0, -2 * level);
  const auto scaled = [&](std::int64_t of_template) {
    return static_cast<std::int64_t>(share * static_cast<double>(of_template));
  };
  const Masking masking{std::max<std::int64_t>(scaled(templ.masking().pixels(templ.size())), 1),
                        std::max<std::int64_t>(scaled(templ.masking().runs), most.height)};
  const Size size{std::min(most.width, region.width), std::min(most.height, region.height)};
  const SearchWork work{templ.type(), region, size, shares ? poses : 1, masking};
  const double searched = seconds_of(work, Products::quickest, device) * templ.planes() *
                          (shares ? 1 : static_cast<double>(poses));
  const double seconds = searched + descent_seconds(templ, device);
  if (Status s = check_work(before + seconds, budget, what); !s.ok()) return s;
  return seconds;
}

}  // namespace xcorr
