// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What classes of elements have in common.
#pragma once

#include <gst/base/gstbasetransform.h>

namespace cudaxcorr {

/// Where elements take anything and pass it on.
inline void add_any_pads(GstElementClass* klass) {
  static GstStaticPadTemplate sink =
      GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);
  static GstStaticPadTemplate src =
      GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);
  gst_element_class_add_static_pad_template(klass, &sink);
  gst_element_class_add_static_pad_template(klass, &src);
}

/// \param page  of the documentation, such as "/gstreamer" DOC_SUFFIX
inline void describe(GstElementClass* klass, const char* name, const char* classification,
                     const char* description, const char* page) {
  gst_element_class_set_static_metadata(klass, name, classification, description,
                                        "The cudaxcorr authors");
  gst_element_class_add_static_metadata(klass, GST_ELEMENT_METADATA_DOC_URI, page);
}

/// Frames are changed in place, or not at all if they `pass`.
inline void init_transform(gpointer element, gboolean pass) {
  auto* base = GST_BASE_TRANSFORM(element);
  gst_base_transform_set_in_place(base, TRUE);
  gst_base_transform_set_passthrough(base, pass);
  // Its quality of service would drop whole frames.
  gst_base_transform_set_qos_enabled(base, FALSE);
}

/// Properties whose ids are their places in the table plus one.
template <class Table>
void install_properties(GObjectClass* klass, const Table& table,
                        decltype(GObjectClass::set_property) set,
                        decltype(GObjectClass::get_property) get) {
  klass->set_property = set;
  klass->get_property = get;
  for (guint id = 1; id <= table.size(); ++id)
    g_object_class_install_property(klass, id, table[id - 1].spec);
}

}  // namespace cudaxcorr
