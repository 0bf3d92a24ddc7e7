// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cudaxcorr/configure.h"

#include <algorithm>

#include "common/fault.h"
#include "cudaxcorr/analysis.h"
#include "cudaxcorr/backend.h"
#include "cudaxcorr/element.h"
#include "cudaxcorr/template_changes.h"

namespace cudaxcorr {
namespace {

/// The template set that worked, without the templates that have been removed by their ids since.
std::shared_ptr<const TemplateSet> still_wanted(const std::shared_ptr<const TemplateSet>& working,
                                                const TemplateSet& refused) {
  auto template_set = std::make_shared<TemplateSet>(*working);
  const auto removed = [&](const SharedImage& image) {
    return std::ranges::find(refused.added, image->id, &LoadedImage::id) == refused.added.end();
  };
  return std::erase_if(template_set->added, removed) > 0 ? template_set : working;
}

/// Those of settings that may turn out not to work, and of what goes with them.
constexpr const char* refusable_properties[] = {
    "kernel",      "method",          "polarity",    "match-on",     "edge-contrast",
    "overhang",    "prefilter-sigma", "angle-start", "angle-extent", "angle-step",
    "scale-min",   "scale-max",       "scale-step",  "exhaustive",   "pyramid-levels",
    "max-overlap", "max-work",        "max-memory",  "async-depth",  "confirm-threshold"};

/// Resets them, unless they have been changed again since.
void reset(SearchSettings& now, const SearchSettings& refused, const SearchSettings& working) {
  const auto reset_one = [](auto& setting, const auto& not_taken, const auto& taken) {
    if (setting == not_taken) setting = taken;
  };
  xcorr::MatchSettings& match = now.match;
  reset_one(match.kernel, refused.match.kernel, working.match.kernel);
  reset_one(match.method, refused.match.method, working.match.method);
  reset_one(match.match_on, refused.match.match_on, working.match.match_on);
  reset_one(match.edge_contrast, refused.match.edge_contrast, working.match.edge_contrast);
  reset_one(match.polarity, refused.match.polarity, working.match.polarity);
  reset_one(match.prefilter_sigma, refused.match.prefilter_sigma, working.match.prefilter_sigma);
  reset_one(match.confirm_threshold, refused.match.confirm_threshold,
            working.match.confirm_threshold);
  reset_one(match.overhang, refused.match.overhang, working.match.overhang);
  reset_one(match.budget, refused.match.budget, working.match.budget);
  reset_one(match.poses, refused.match.poses, working.match.poses);
  reset_one(now.async_depth, refused.async_depth, working.async_depth);
}

/// Resets templates and settings to what worked, unless they have been changed again since.
void refuse(GstCudaXCorr* self, const Task& refused, const Task& working) {
  Snapshot& shared = self->element->shared;
  {
    const ObjectLock lock(self);
    reset(shared.settings.search, refused.search, working.search);
    if (shared.template_set == refused.template_set) {
      shared.template_set = working.template_set;
      shared.settings.templates = settings_of(*working.template_set);
    }
  }
  for (const char* name : refusable_properties) g_object_notify(G_OBJECT(self), name);
  notify_templates(self);
}

Task task_of(GstCudaXCorr* self, const Snapshot& requested) {
  Task task{requested.template_set, requested.settings.search};
  if (is_on_cpu_fallback(self)) task.search.match.kernel = "auto";  // the other may be a GPU's
  return task;
}

bool has_refused(const Element& element, const Task& task) {
  return element.refused && element.refused->task == task;
}

/// What is refused is not tried again for each frame: that may take all the memory allowed.
xcorr::Status prepare(GstCudaXCorr* self, const Task& task) {
  Element& element = *self->element;
  if (has_refused(element, task)) return element.refused->status;
  GST_DEBUG_OBJECT(self, "preparing for a task");
  xcorr::Status status = element.analyser->configure(task);
  if (is_refusal(status)) {
    element.refused = {task, status};
    element.warned_of_bad_frame = false;
  }
  return status;
}

/// Refuses what the snapshot has of new settings and templates, because of that error.
xcorr::Status configure_as_before(GstCudaXCorr* self, Snapshot& requested,
                                  const xcorr::Status& error) {
  Element& element = *self->element;
  SearchSettings& search = requested.settings.search;
  const Task asked{requested.template_set, search};
  const Task working{still_wanted(element.working.template_set, *asked.template_set),
                     element.working.search};
  post_warning(self, fault_of(error));
  refuse(self, asked, working);
  requested.template_set = working.template_set;
  reset(search, asked.search, working.search);
  return requested.has_task() ? prepare(self, task_of(self, requested)) : xcorr::Status();
}

}  // namespace

bool is_refusal(const xcorr::Status& status) {
  return status.code() == xcorr::Code::over_budget || status.code() == xcorr::Code::unsupported ||
         status.code() == xcorr::Code::invalid_argument;
}

void post_warnings(GstCudaXCorr* self) {
  for (const std::string& text : self->element->analyser->take_warnings())
    post_warning(self, {GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED, text});
}

xcorr::Status configure(GstCudaXCorr* self, Snapshot& requested) {
  Element& element = *self->element;
  const Task task = task_of(self, requested);
  if (element.analyser->is_ready_for(task)) return {};
  if (auto status = settle(self); !status.ok()) return status;
  // Nothing has worked so far, so there is nothing to return to.
  if (has_refused(element, element.working))
    element.working = {requested.template_set, requested.settings.search};
  xcorr::Status status = prepare(self, task);
  // After an error of the device no other settings would work either; another may take these.
  const bool refusable = !status.ok() && status.code() != xcorr::Code::device_error &&
                         status.code() != xcorr::Code::stopped &&
                         !may_fall_back_to_cpu(self, requested.settings, status);
  const auto return_to_working = [&] {
    if (element.working != Task{requested.template_set, requested.settings.search})
      status = configure_as_before(self, requested, status);
  };
  if (refusable) return_to_working();
  if (status.code() == xcorr::Code::unsupported || status.code() == xcorr::Code::invalid_argument) {
    // A kernel that worked with other frames or templates need not with these.
    element.working.search.match.kernel = "auto";
    return_to_working();
  }
  if (status.ok()) element.working = {requested.template_set, requested.settings.search};
  post_warnings(self);
  if (const std::string text = element.analyser->take_tuning(); !text.empty())
    GST_INFO_OBJECT(self, "kernel=tune: %s", text.c_str());
  return status;
}

}  // namespace cudaxcorr
