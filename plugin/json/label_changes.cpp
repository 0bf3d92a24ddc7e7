// SPDX-License-Identifier: LGPL-2.1-or-later
#include "json/label_changes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "gstcudaxcorrmeta.h"
#include "json/json_text.h"

namespace cudaxcorr {
namespace {

using Labels = std::vector<std::string>;

/// Only fields that are needed are read: with hundreds of labels this is done for every frame.
Labels labels_of(const GstStructure* result) {
  Labels labels;
  const GValue* peaks = gst_structure_get_value(result, "peaks");
  for (guint i = 0; i < gst_cuda_xcorr_get_n_peaks(result); ++i) {
    const GstStructure* peak = gst_value_get_structure(gst_value_array_get_value(peaks, i));
    const gchar* label = gst_structure_get_string(peak, "label");
    gboolean lost = FALSE;
    gst_structure_get_boolean(peak, "lost", &lost);
    if (label && !lost) labels.push_back(valid_text(label));
  }
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  return labels;
}

Labels without(const Labels& labels, const Labels& others) {
  Labels rest;
  std::set_difference(labels.begin(), labels.end(), others.begin(), others.end(),
                      std::back_inserter(rest));
  return rest;
}

}  // namespace

LabelChange LabelChanges::take(GstBuffer* buffer) {
  LabelChange change;
  change.left = std::exchange(finished_, {});
  change.goes_on = !std::exchange(begun_, true);
  const GstStructure* result = gst_cuda_xcorr_get_result(buffer);
  gboolean analysed = FALSE;
  if (!result || !gst_structure_get_boolean(result, "analysed", &analysed) || !analysed)
    return change;
  Labels labels = labels_of(result);
  change.came = without(labels, labels_);
  if (labels_.size() + change.came.size() != labels.size()) {
    change.left = without(labels_, labels);
    change.before = std::move(held_);
  }
  change.goes_on |= !change.came.empty();
  held_.reset(labels.empty() || change.goes_on ? nullptr : gst_buffer_ref(buffer));
  labels_ = std::move(labels);
  return change;
}

HeldFrame LabelChanges::finish() {
  finished_ = std::exchange(labels_, {});
  return std::move(held_);
}

}  // namespace cudaxcorr
