// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cudaxcorr/property_types.h"

#include <vector>

#include <xcorr/follower.hpp>
#include <xcorr/methods.hpp>

#include "matching/devices.h"
#include "matching/masks.h"

namespace cudaxcorr {

GType method_type() {
  static const GType type = [] {
    static std::vector<GEnumValue> values;  // GObject keeps the pointer
    for (const xcorr::MethodInfo& row : xcorr::methods())
      values.push_back({static_cast<int>(row.method), row.formula, row.name});
    values.push_back({0, nullptr, nullptr});
    return g_enum_register_static("GstCudaXCorrMethod", values.data());
  }();
  return type;
}

GType mask_type() {
  static const GType type = [] {
    static constexpr GEnumValue values[] = {
        {static_cast<int>(MaskKind::none), "All pixels", "none"},
        {static_cast<int>(MaskKind::alpha),
         "Those with an alpha of 128 or more, or half of the largest", "alpha"},
        {static_cast<int>(MaskKind::disc), "Those in the largest disc or ellipse", "disc"},
        {static_cast<int>(MaskKind::weights), "Each as much as its alpha says", "weights"},
        {0, nullptr, nullptr}};
    return g_enum_register_static("GstCudaXCorrMask", values);
  }();
  return type;
}

/// The last two are what the property took when it was a boolean.
GType subpixel_type() {
  static const GType type = [] {
    constexpr int none = static_cast<int>(xcorr::Subpixel::none),
                  least_squares = static_cast<int>(xcorr::Subpixel::least_squares);
    static constexpr GEnumValue values[] = {
        {none, "Whole pixels", "none"},
        {static_cast<int>(xcorr::Subpixel::quadratic), "The extremum of a quadratic through scores",
         "quadratic"},
        {least_squares, "Least squares, but for brightness and contrast", "least-squares"},
        {none, "As none", "false"},
        {least_squares, "As least-squares", "true"},
        {0, nullptr, nullptr}};
    return g_enum_register_static("GstCudaXCorrSubpixel", values);
  }();
  return type;
}

GType polarity_type() {
  static const GType type = [] {
    static constexpr GEnumValue values[] = {
        {static_cast<int>(xcorr::Polarity::same), "The template's", "same"},
        {static_cast<int>(xcorr::Polarity::inverted), "The opposite: dark where it is bright",
         "inverted"},
        {static_cast<int>(xcorr::Polarity::either), "Either", "either"},
        {0, nullptr, nullptr}};
    return g_enum_register_static("GstCudaXCorrPolarity", values);
  }();
  return type;
}

GType match_on_type() {
  static const GType type = [] {
    static constexpr GEnumValue values[] = {
        {static_cast<int>(xcorr::MatchOn::luma), "Brightness", "luma"},
        {static_cast<int>(xcorr::MatchOn::color), "Colour: all three components", "color"},
        {static_cast<int>(xcorr::MatchOn::edges), "Directions of edges", "edges"},
        {static_cast<int>(xcorr::MatchOn::color_edges),
         "Directions of edges, of all three components", "color-edges"},
        {0, nullptr, nullptr}};
    return g_enum_register_static("GstCudaXCorrMatchOn", values);
  }();
  return type;
}

GType tracker_type() {
  static const GType type = [] {
    static constexpr GEnumValue values[] = {
        {static_cast<int>(xcorr::FollowBy::automatic),
         "A filter where few upright targets are searched", "auto"},
        {static_cast<int>(xcorr::FollowBy::template_), "The template, and what it has taken up",
         "template"},
        {static_cast<int>(xcorr::FollowBy::filter),
         "A filter of its own, which learns; finds size and angle", "filter"},
        {0, nullptr, nullptr}};
    return g_enum_register_static("GstCudaXCorrTracker", values);
  }();
  return type;
}

void mark_property_types() {
  for (const GType type : {method_type(), subpixel_type(), polarity_type(), match_on_type(),
                           mask_type(), tracker_type(), backend_type()})
    gst_type_mark_as_plugin_api(type, static_cast<GstPluginAPIFlags>(0));
}

}  // namespace cudaxcorr
