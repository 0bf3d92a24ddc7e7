// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Rows of a table of properties: of each a name, a nick and a blurb, its range, and where its field
// is. The default is what the field is at first, so nothing says it twice.
#pragma once

#include <string>

#include <gst/gst.h>

#include "common/property_flags.h"

namespace cudaxcorr {

/// For rows: the field that a property is, of the struct that the table is about.
#define XCORR_AT(path) \
  [](auto& all) -> auto& { return all.path; }

/// `Row` has a type `Owner`, of which fields are, and makes a row by of(spec, access).
template <class Row>
struct PropertyRows {
  template <class Access>
  static const auto& initial(Access access) {
    static const typename Row::Owner owner{};
    return access(owner);
  }

  template <class Access>
  static Row flag(const char* name, const char* nick, const char* blurb, Access access,
                  GParamFlags flags = playing) {
    return Row::of(g_param_spec_boolean(name, nick, blurb, initial(access), flags), access);
  }

  template <class Access>
  static Row number(const char* name, const char* nick, const char* blurb, double least,
                    double most, Access access, GParamFlags flags = playing) {
    return Row::of(g_param_spec_double(name, nick, blurb, least, most, initial(access), flags),
                   access);
  }

  /// An integer that cannot be negative; the field may be an int, and `most` is then INT_MAX at
  /// most.
  template <class Access>
  static Row count(const char* name, const char* nick, const char* blurb, guint least, guint most,
                   Access access, GParamFlags flags = playing) {
    const auto value = static_cast<guint>(initial(access));
    return Row::of(g_param_spec_uint(name, nick, blurb, least, most, value, flags), access);
  }

  /// Of 32 or 64 bits, as the field.
  template <class Access>
  static Row integer(const char* name, const char* nick, const char* blurb, gint64 least,
                     gint64 most, Access access, GParamFlags flags = playing) {
    const auto value = initial(access);
    if constexpr (sizeof value == sizeof(gint64))
      return Row::of(g_param_spec_int64(name, nick, blurb, least, most, value, flags), access);
    else
      return Row::of(g_param_spec_int(name, nick, blurb, static_cast<int>(least),
                                      static_cast<int>(most), value, flags),
                     access);
  }

  /// A number of bytes.
  template <class Access>
  static Row bytes(const char* name, const char* nick, const char* blurb, Access access) {
    return Row::of(g_param_spec_uint64(name, nick, blurb, 0, G_MAXUINT64, initial(access), playing),
                   access);
  }

  template <class Access>
  static Row choice(const char* name, const char* nick, const char* blurb, GType type,
                    Access access, GParamFlags flags = playing) {
    const int value = static_cast<int>(initial(access));
    return Row::of(g_param_spec_enum(name, nick, blurb, type, value, flags), access);
  }

  template <class Access>
  static Row text(const char* name, const char* nick, const char* blurb, Access access,
                  GParamFlags flags = playing) {
    const std::string& value = initial(access);
    return Row::of(
        g_param_spec_string(name, nick, blurb, value.empty() ? nullptr : value.c_str(), flags),
        access);
  }
};

}  // namespace cudaxcorr
