// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/task_warnings.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "matching/frame.h"
#include "matching/image_size.h"

namespace cudaxcorr {
namespace {

/// Whether a template is not too large at every pose.
bool may_fit(xcorr::Size size, xcorr::Size area, const xcorr::PoseRange& poses) {
  const double scale = std::min(poses.scale_min, poses.scale_max);
  const double across = scale * size.width, down = scale * size.height;
  if (poses.angle_start != 0 || poses.angle_extent != 0)
    return std::min(across, down) <= std::min(area.width, area.height);
  return across <= area.width && down <= area.height;
}

/// At which scale a template is smallest.
std::string at_least_of(const xcorr::PoseRange& poses) {
  std::ostringstream text;
  if (poses.scale_min != 1 || poses.scale_max != 1)
    text << " at a scale of " << std::min(poses.scale_min, poses.scale_max);
  return text.str();
}

/// Gray levels, of which rounding alone makes 0.3: what has less is like noise.
constexpr double least_contrast = 1;

void add_those_of(const LumaImage& image, const std::string& file,
                  const xcorr::MatchSettings& match, xcorr::Size frame,
                  std::vector<std::string>& warnings) {
  const xcorr::Rect region = xcorr::searched_region(frame, match.search_region);
  const xcorr::Size area = region.size();
  const std::string name = "The template '" + file + "'";
  if (region.empty())
    warnings.push_back(name + " cannot match: its search region begins at " +
                       std::to_string(match.search_region.x) + "," +
                       std::to_string(match.search_region.y) + ", outside of the frames of " +
                       text_of(frame) + " pixels");
  else if (!may_fit(image.size, area, match.poses))
    warnings.push_back(name + " of " + text_of(image.size) + " pixels" + at_least_of(match.poses) +
                       " is larger than the " + text_of(area) +
                       " that are searched: it cannot match");
  if (xcorr::is_on_edges(match.match_on) || !xcorr::info(match.method).centred) return;
  const std::string where = name + (image.mask.empty() ? "" : ", where its mask counts,");
  if (const double contrast = image.contrast(); contrast == 0) {
    warnings.push_back(where + " is flat: it has no contrast that the method '" +
                       xcorr::info(match.method).name +
                       "' could match; 'sqdiff-normed' compares brightness, 'match-on=edges' a "
                       "mask's outline");
  } else if (contrast < least_contrast) {
    std::ostringstream text;
    text << where << " is almost flat: noise may match its contrast of " << std::setprecision(2)
         << contrast << " gray levels as well as it does";
    warnings.push_back(text.str());
  }
}

/// Of limits the wrong way round, and of steps that leave nothing between the ends of a range.
void add_those_of_poses(const xcorr::PoseRange& poses, std::vector<std::string>& warnings) {
  const auto add = [&](const char* one, double value, const char* other, double limit,
                       const char* then) {
    if (!(value > limit)) return;
    std::ostringstream text;
    text << "'" << one << "' of " << value << " is above '" << other << "' of " << limit << ": "
         << then;
    warnings.push_back(text.str());
  };
  add("scale-min", poses.scale_min, "scale-max", poses.scale_max,
      "sizes between the two are searched");
  if (poses.angle_extent > 0)
    add("angle-step", poses.angle_step, "angle-extent", poses.angle_extent,
        "the first look is at the first and the last angle alone");
}

/// Of frames that have not what is asked for, or of gray templates for colour.
void add_those_of_match_on(const Task& asked, const Task& done, const GstVideoInfo& format,
                           std::vector<std::string>& warnings) {
  const xcorr::MatchOn match_on = asked.search.match.match_on;
  if (!can_match_on(match_on, format))
    warnings.push_back(std::string("'match-on': the luma of frames of ") +
                       gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(&format)) +
                       " is matched on, since they have no " +
                       (match_on == xcorr::MatchOn::color ? "colour" : "edges") + " of 8 bits");
  if (done.search.match.match_on != xcorr::MatchOn::color) return;
  for (std::size_t i = 0; i < done.template_set->size(); ++i) {
    const LoadedImage& image = (*done.template_set)[i];
    const GstVideoInfo info = image.info();
    if (GST_VIDEO_INFO_IS_GRAY(&info))
      warnings.push_back("The template '" + image.name() +
                         "' is gray: with match-on=color it matches only what is gray");
  }
}

void add_those_of_weights(const Task& asked, const Task& done, std::vector<std::string>& warnings) {
  if (asks_for_weights(asked) && !done.search.match.weights)
    warnings.emplace_back(
        "'mask=weights': pixels count whose weight is at least half, since weights are for normed "
        "methods on luma and colour, without 'overhang', and for upright templates of 8 bits, "
        "without 'confirm-threshold'");
}

void add_those_of_prefilter(const Task& asked, const Task& done,
                            std::vector<std::string>& warnings) {
  const double sigma = asked.search.match.prefilter_sigma;
  for (std::size_t i = 0; i < done.template_set->size(); ++i) {
    const LoadedImage& image = (*done.template_set)[i];
    if (xcorr::survives_prefilter(image.size(), sigma)) continue;
    std::ostringstream text;
    text << "The template '" << image.name() << "' of " << text_of(image.size())
         << " pixels is flat after smoothing by a 'prefilter-sigma' of " << sigma
         << ", so nothing is smoothed: take a smaller one, or a larger template";
    warnings.push_back(text.str());
  }
}

void add_those_of_videos(const TemplateSet& template_set, std::vector<std::string>& warnings) {
  for (const auto list :
       {&TemplateSet::single, &TemplateSet::several, &TemplateSet::added, &TemplateSet::mask_file})
    for (const SharedImage& image : template_set.*list)
      if (image->of_video)
        warnings.push_back("The file '" + image->file +
                           "' is a video: only its first frame is taken");
}

}  // namespace

std::vector<std::string> warnings_of(const Task& asked, const Task& done,
                                     const LoadedTemplates& templates, const GstVideoInfo& format,
                                     std::size_t devices) {
  std::vector<std::string> warnings;
  const std::vector<LumaImage>& images = *templates.images;
  if (templates.are_live() && devices > 1 && images.size() > 1)
    warnings.push_back(
        "'devices': templates that change, by 'template-update', are all searched by the first of "
        "them; with template-update=0 from the start on they are shared out");
  add_those_of_match_on(asked, done, format, warnings);
  add_those_of_weights(asked, done, warnings);
  add_those_of_poses(done.search.match.poses, warnings);
  add_those_of_prefilter(asked, done, warnings);
  bool has_thresholds = false;
  for (std::size_t i = 0; i < images.size(); ++i) {
    const LoadedImage& image = (*done.template_set)[i];
    xcorr::MatchSettings match = done.search.match;
    if (!image.rules.region.empty()) match.search_region = image.rules.region;
    has_thresholds |= image.rules.threshold.has_value();
    add_those_of(images[i], image.name(), match, {format.width, format.height}, warnings);
  }
  if (has_thresholds && done.search.tracking.enabled)
    warnings.push_back(
        "With 'track' the thresholds of single templates have no effect, 'threshold' has");
  if (asked.search.min_confidence >= 0 && !done.search.follows() &&
      done.search.match.min_confidence < 0)
    warnings.push_back(
        "'min-confidence' has no effect: without 'track' places have a confidence by "
        "method=ccoeff-normed on luma and on edges, with fewer than 1024 'max-peaks'");
  add_those_of_videos(*done.template_set, warnings);
  if (asked.search.tracking.by_filter() && luma_type(format) != xcorr::ElementType::u8)
    warnings.push_back(std::string("Filters need frames of 8 bits, not ") +
                       gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(&format)) +
                       ": targets are followed by templates");
  return warnings;
}

}  // namespace cudaxcorr
