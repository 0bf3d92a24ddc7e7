// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cudaxcorr/results.h"

#include <algorithm>
#include <cmath>

#include <gst/video/video.h>

#include "common/custom_meta.h"
#include "common/times.h"
#include "gstcudaxcorrmeta.h"

namespace cudaxcorr {
namespace {

/// x and y of each, in one array.
GValue corners_value(const xcorr::Pose& pose) {
  GValue array = G_VALUE_INIT;
  gst_value_array_init(&array, 8);
  const auto add = [&array](double number) {
    GValue item = G_VALUE_INIT;
    g_value_init(&item, G_TYPE_DOUBLE);
    g_value_set_double(&item, number);
    gst_value_array_append_and_take_value(&array, &item);
  };
  for (const xcorr::Corner& corner : xcorr::corners_of(pose)) {
    add(corner.x);
    add(corner.y);
  }
  return array;
}

GstStructure* describe(const char* name, const FrameResult& result, const xcorr::Target& target) {
  const xcorr::Peak& peak = target.peak;
  const double width = result.frame.width, height = result.frame.height;
  static const LoadedImage gone{};  // what a target was of that ended with its template
  const bool is_there = peak.template_index < result.template_set.size();
  const LoadedImage& image = is_there ? result.template_set[peak.template_index] : gone;
  const xcorr::Pose& pose = peak.pose;
  const double similarity = std::clamp(peak.similarity, 0.0, 1.0);
  GstStructure* made =
      gst_structure_new(name,                                                       //
                        "template", G_TYPE_UINT, peak.template_index,               //
                        "template-id", G_TYPE_UINT, image.id,                       //
                        "label", G_TYPE_STRING, image.label.c_str(),                //
                        "sample", G_TYPE_STRING, image.sample_name().c_str(),       //
                        "id", G_TYPE_UINT64, guint64{target.id},                    //
                        "x", G_TYPE_DOUBLE, peak.x,                                 //
                        "y", G_TYPE_DOUBLE, peak.y,                                 //
                        "width", G_TYPE_DOUBLE, static_cast<double>(peak.width),    //
                        "height", G_TYPE_DOUBLE, static_cast<double>(peak.height),  //
                        "nx", G_TYPE_DOUBLE, peak.x / width,                        //
                        "ny", G_TYPE_DOUBLE, peak.y / height,                       //
                        "nwidth", G_TYPE_DOUBLE, peak.width / width,                //
                        "nheight", G_TYPE_DOUBLE, peak.height / height,             //
                        "center-x", G_TYPE_DOUBLE, pose.center_x,                   //
                        "center-y", G_TYPE_DOUBLE, pose.center_y,                   //
                        "angle", G_TYPE_DOUBLE, pose.angle,                         //
                        "scale", G_TYPE_DOUBLE, pose.scale,                         //
                        "score", G_TYPE_DOUBLE, peak.score,                         //
                        target.id ? "confidence" : "similarity", G_TYPE_DOUBLE,     //
                        target.id ? target.confidence : similarity,                 //
                        "inverted", G_TYPE_BOOLEAN, gboolean{peak.inverted},        //
                        "lost", G_TYPE_BOOLEAN, gboolean{target.lost},              //
                        "state", G_TYPE_STRING, name_of(target.state), nullptr);
  if (!target.id && peak.confidence >= 0)
    gst_structure_set(made, "confidence", G_TYPE_DOUBLE, peak.confidence, nullptr);
  GValue corners = corners_value(pose);
  gst_structure_take_value(made, "corners", &corners);
  if (target.candidate) {
    GValue candidate = corners_value(target.candidate->pose);
    gst_structure_take_value(made, "candidate", &candidate);
  }
  return made;
}

void set_time(GstStructure* structure, const char* which, const xcorr::FrameTime& time) {
  const std::string name = which;
  gst_structure_set(structure, (name + "-running-time").c_str(), G_TYPE_UINT64,
                    guint64{time.running_time}, nullptr);
  if (time.utc != xcorr::unknown_time)
    gst_structure_set(structure, (name + "-utc").c_str(), G_TYPE_STRING, utc_text(time.utc).c_str(),
                      nullptr);
}

/// Puts what the event says behind what there is.
void add_event(GstStructure* structure, const FrameResult& result,
               const xcorr::PresenceEvent& event) {
  gst_structure_set(structure, "event", G_TYPE_STRING, name_of(event.change), "label",
                    G_TYPE_STRING, event.label.c_str(), nullptr);
  set_time(structure, "first", event.first);
  set_time(structure, "last", event.last);
  GstStructure* peak = describe("peak", result, event.target);
  gst_structure_set(structure, "unanalysed", G_TYPE_UINT64, guint64{event.unanalysed}, "peak",
                    GST_TYPE_STRUCTURE, peak, nullptr);
  gst_structure_free(peak);
}

/// An array of the structures that `describe_one` makes, which are taken over.
template <class Items, class Describe>
GValue array_of(const Items& items, Describe describe_one) {
  GValue array = G_VALUE_INIT;
  gst_value_array_init(&array, static_cast<guint>(items.size()));
  for (const auto& each : items) {
    GValue item = G_VALUE_INIT;
    g_value_init(&item, GST_TYPE_STRUCTURE);
    g_value_take_boxed(&item, describe_one(each));
    gst_value_array_append_and_take_value(&array, &item);
  }
  return array;
}

/// Whose frame it is and when it was taken, where that is known.
void identify(GstStructure* structure, const FrameResult& result) {
  if (!result.camera.empty())
    gst_structure_set(structure, "camera", G_TYPE_STRING, result.camera.c_str(), nullptr);
  if (result.utc)
    gst_structure_set(structure, "utc", G_TYPE_STRING, utc_text(*result.utc).c_str(), nullptr);
}

void fill(GstStructure* structure, const FrameResult& result) {
  identify(structure, result);
  gst_structure_set(structure,                                        //
                    "frame-width", G_TYPE_INT, result.frame.width,    //
                    "frame-height", G_TYPE_INT, result.frame.height,  //
                    "pts", G_TYPE_UINT64, guint64{result.pts},        //
                    "processing-time", G_TYPE_UINT64, guint64{result.processing_ns}, "backend",
                    G_TYPE_STRING, xcorr::name_of(result.backend),   //
                    "kernel", G_TYPE_STRING, result.kernel.c_str(),  //
                    "analysed", G_TYPE_BOOLEAN, gboolean{result.analysed}, nullptr);
  GValue peaks = array_of(result.targets, [&](const xcorr::Target& target) {
    return describe("peak", result, target);
  });
  gst_structure_take_value(structure, "peaks", &peaks);
  if (!result.events) return;
  GValue events = array_of(*result.events, [&](const LabelEvent& event) {
    GstStructure* made = gst_structure_new_empty("event");
    add_event(made, result, event.event);
    return made;
  });
  gst_structure_take_value(structure, "events", &events);
}

/// Along one axis, in whole pixels.
struct Side {
  guint begin, length;
};

/// What of a box is in the frame, one pixel at least: ROI metas are unsigned.
Side in_frame(double position, int extent, int limit) {
  const long first = std::lround(position), begin = std::clamp<long>(first, 0, limit - 1);
  const long end = std::clamp<long>(first + extent, begin + 1, limit);
  return {static_cast<guint>(begin), static_cast<guint>(end - begin)};
}

/// As DL Streamer's elements read it.
GstStructure* detection_of(const FrameResult& result, const xcorr::Target& target) {
  const xcorr::Peak& peak = target.peak;
  const auto share = [](double position, int extent) {
    return std::clamp(position / extent, 0.0, 1.0);
  };
  return gst_structure_new(
      "detection",                                                                     //
      "label_id", G_TYPE_INT, static_cast<gint>(peak.template_index),                  //
      "label", G_TYPE_STRING, result.template_set[peak.template_index].label.c_str(),  //
      "confidence", G_TYPE_DOUBLE, target.confidence,                                  //
      "x_min", G_TYPE_DOUBLE, share(peak.x, result.frame.width),                       //
      "x_max", G_TYPE_DOUBLE, share(peak.x + peak.width, result.frame.width),          //
      "y_min", G_TYPE_DOUBLE, share(peak.y, result.frame.height),                      //
      "y_max", G_TYPE_DOUBLE, share(peak.y + peak.height, result.frame.height), nullptr);
}

/// The number of a track, for what has 31 bits for it.
gint track_number(const xcorr::Target& target) { return static_cast<gint>(target.id & G_MAXINT); }

/// As DL Streamer's elements read it.
GstStructure* object_id_of(const xcorr::Target& target) {
  return gst_structure_new("object_id", "id", G_TYPE_INT, track_number(target), nullptr);
}

}  // namespace

void register_meta() { register_custom_meta(GST_CUDA_XCORR_META_NAME); }

void attach_meta(GstBuffer* buffer, const FrameResult& result) {
  GstCustomMeta* meta = gst_buffer_add_custom_meta(buffer, GST_CUDA_XCORR_META_NAME);
  fill(gst_custom_meta_get_structure(meta), result);
}

void attach_roi_metas(GstBuffer* buffer, const FrameResult& result,
                      std::span<const gint> detections) {
  auto detection = detections.begin();
  for (const xcorr::Target& target : result.targets) {
    if (target.lost) continue;
    const xcorr::Peak& peak = target.peak;
    const Side across = in_frame(peak.x, peak.width, result.frame.width),
               down = in_frame(peak.y, peak.height, result.frame.height);
    GstVideoRegionOfInterestMeta* roi = gst_buffer_add_video_region_of_interest_meta(
        buffer, result.template_set[peak.template_index].label.c_str(), across.begin, down.begin,
        across.length, down.length);
    roi->id = detection == detections.end() ? track_number(target) : *detection++;
    gst_video_region_of_interest_meta_add_param(roi, describe("cudaxcorr", result, target));
    gst_video_region_of_interest_meta_add_param(roi, detection_of(result, target));
    if (target.id) gst_video_region_of_interest_meta_add_param(roi, object_id_of(target));
  }
}

GstMessage* make_message(GstObject* source, const GstSegment& segment, GstBuffer* buffer,
                         const FrameResult& result) {
  GstStructure* structure = describe_times("cudaxcorr", segment, buffer);
  fill(structure, result);
  return gst_message_new_element(source, structure);
}

GstMessage* make_message(GstObject* source, const GstSegment& segment, GstBuffer* buffer,
                         const FrameResult& result, const xcorr::TargetEvent& event) {
  GstStructure* structure = describe_times("cudaxcorr-target", segment, buffer);
  identify(structure, result);
  GstStructure* target = describe("target", result, event.target);
  gst_structure_set(structure, "event", G_TYPE_STRING, name_of(event.event), "target",
                    GST_TYPE_STRUCTURE, target, nullptr);
  gst_structure_free(target);
  return gst_message_new_element(source, structure);
}

GstMessage* make_message(GstObject* source, const GstSegment& segment, GstBuffer* buffer,
                         const FrameResult& result, const LabelEvent& event) {
  GstStructure* structure = describe_times("cudaxcorr-event", segment, buffer);
  identify(structure, result);
  add_event(structure, result, event.event);
  if (event.sample)
    gst_structure_set(structure, "sample", GST_TYPE_SAMPLE, event.sample.get(), nullptr);
  return gst_message_new_element(source, structure);
}

}  // namespace cudaxcorr
