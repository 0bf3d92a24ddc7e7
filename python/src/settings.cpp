// SPDX-License-Identifier: LGPL-2.1-or-later
#include "settings.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cstddef>
#include <tuple>
#include <type_traits>

#include <xcorr/match.hpp>

#include "fields_of_struct.hpp"

namespace xcorr::python {
namespace {

namespace nb = nanobind;

using Rectangle = std::tuple<int, int, int, int>;

static_assert(std::is_standard_layout_v<Peak> && std::is_trivially_copyable_v<Peak>);

nb::dict peak_fields() {
  const nb::dict pose = Fields(sizeof(Pose))
                            .add("center_x", "f8", offsetof(Pose, center_x))
                            .add("center_y", "f8", offsetof(Pose, center_y))
                            .add("angle", "f8", offsetof(Pose, angle))
                            .add("scale", "f8", offsetof(Pose, scale))
                            .add("width", "f8", offsetof(Pose, width))
                            .add("height", "f8", offsetof(Pose, height))
                            .done();
  return Fields(sizeof(Peak))
      .add("template_index", "u4", offsetof(Peak, template_index))
      .add("x", "f8", offsetof(Peak, x))
      .add("y", "f8", offsetof(Peak, y))
      .add("width", "i4", offsetof(Peak, width))
      .add("height", "i4", offsetof(Peak, height))
      .add("score", "f8", offsetof(Peak, score))
      .add("closeness", "f8", offsetof(Peak, similarity))
      .add("pose", pose, offsetof(Peak, pose))
      .add("inverted", "?", offsetof(Peak, inverted))
      .add("confidence", "f8", offsetof(Peak, confidence))
      .done();
}

}  // namespace

void bind_settings(nb::module_& module) {
  nb::class_<PoseRange>(module, "PoseRange")
      .def(nb::init<>())
      .def_rw("angle_start", &PoseRange::angle_start)
      .def_rw("angle_extent", &PoseRange::angle_extent)
      .def_rw("angle_step", &PoseRange::angle_step)
      .def_rw("scale_min", &PoseRange::scale_min)
      .def_rw("scale_max", &PoseRange::scale_max)
      .def_rw("scale_step", &PoseRange::scale_step)
      .def_rw("pyramid_levels", &PoseRange::pyramid_levels)
      .def_rw("exhaustive", &PoseRange::exhaustive)
      .def_rw("max_overlap", &PoseRange::max_overlap);
  nb::class_<MatchSettings>(module, "MatchSettings")
      .def(nb::init<>())
      .def_prop_rw(
          "method", [](const MatchSettings& s) { return static_cast<int>(s.method); },
          [](MatchSettings& s, int method) { s.method = static_cast<Method>(method); })
      .def_prop_rw(
          "match_on", [](const MatchSettings& s) { return static_cast<int>(s.match_on); },
          [](MatchSettings& s, int match_on) { s.match_on = static_cast<MatchOn>(match_on); })
      .def_rw("edge_contrast", &MatchSettings::edge_contrast)
      .def_rw("threshold", &MatchSettings::threshold)
      .def_prop_rw(
          "polarity", [](const MatchSettings& s) { return static_cast<int>(s.polarity); },
          [](MatchSettings& s, int polarity) { s.polarity = static_cast<Polarity>(polarity); })
      .def_rw("min_contrast", &MatchSettings::min_contrast)
      .def_rw("confirm_threshold", &MatchSettings::confirm_threshold)
      .def_rw("weights", &MatchSettings::weights)
      .def_rw("max_peaks", &MatchSettings::max_peaks)
      .def_rw("min_peak_distance", &MatchSettings::min_peak_distance)
      .def_prop_rw(
          "subpixel", [](const MatchSettings& s) { return static_cast<int>(s.subpixel); },
          [](MatchSettings& s, int subpixel) { s.subpixel = static_cast<Subpixel>(subpixel); })
      .def_rw("subpixel_threshold", &MatchSettings::subpixel_threshold)
      .def_prop_rw(
          "search_region",
          [](const MatchSettings& s) -> Rectangle {
            const Rect& r = s.search_region;
            return {r.x, r.y, r.width, r.height};
          },
          [](MatchSettings& s, const Rectangle& region) {
            const auto& [x, y, width, height] = region;
            s.search_region = {x, y, width, height};
          })
      .def_rw("overhang", &MatchSettings::overhang)
      .def_rw("min_confidence", &MatchSettings::min_confidence)
      .def_rw("prefilter_sigma", &MatchSettings::prefilter_sigma)
      .def_rw("kernel", &MatchSettings::kernel)
      .def_prop_rw(
          "max_work", [](const MatchSettings& s) { return s.budget.max_work; },
          [](MatchSettings& s, double seconds) { s.budget.max_work = seconds; })
      .def_prop_rw(
          "max_memory", [](const MatchSettings& s) { return s.budget.max_memory; },
          [](MatchSettings& s, std::size_t bytes) { s.budget.max_memory = bytes; })
      .def_rw("poses", &MatchSettings::poses);
  nb::list names;
  for (const MethodInfo& method : methods()) names.append(method.name);
  module.attr("methods") = nb::tuple(names);
  module.attr("peak_fields") = peak_fields();
}

}  // namespace xcorr::python
