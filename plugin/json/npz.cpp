// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The archive has the 64-bit ends of ZIP64 always, so that there may be any number of frames. A
// file is smaller than 4 GiB.
#include "json/npz.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>
#include <string_view>

#include <zlib.h>

namespace cudaxcorr {
namespace {

// ---- .npy -----------------------------------------------------------------------------------

constexpr char order = G_BYTE_ORDER == G_LITTLE_ENDIAN ? '<' : '>';

struct Record {
  std::string types, bytes;
  int rows = 0, columns = 0;

  void add(const gchar* name, const std::string& type, gconstpointer data, std::size_t size,
           const std::string& shape = {}) {
    types += std::string("('") + name + "', '" + type + "'" + shape + "), ";
    bytes.append(static_cast<const char*>(data), size);
  }
  template <class T>
  void add(const gchar* name, char kind, T value) {
    add(name, std::string{order, kind} + std::to_string(sizeof value), &value, sizeof value);
  }
};

gboolean add_field(GQuark quark, const GValue* value, gpointer data) {
  Record& record = *static_cast<Record*>(data);
  const gchar* name = g_quark_to_string(quark);
  if (G_VALUE_HOLDS_INT(value)) {
    record.add(name, 'i', g_value_get_int(value));
  } else if (G_VALUE_HOLDS_UINT64(value)) {
    record.add(name, 'u', g_value_get_uint64(value));
  } else if (G_VALUE_HOLDS_DOUBLE(value)) {
    record.add(name, 'f', g_value_get_double(value));
  } else if (G_VALUE_HOLDS_STRING(value) && g_value_get_string(value)) {
    // A fixed length, so that the records of a file have one type.
    std::array<char, 16> text{};
    const std::string_view all = g_value_get_string(value);
    all.copy(text.data(), text.size());
    record.add(name, "|S" + std::to_string(text.size()), text.data(), text.size());
  } else if (G_VALUE_HOLDS(value, G_TYPE_BYTES)) {
    gsize size = 0;
    const gconstpointer floats =
        g_bytes_get_data(static_cast<GBytes*>(g_value_get_boxed(value)), &size);
    if (size !=
        sizeof(float) * static_cast<gsize>(record.rows) * static_cast<gsize>(record.columns))
      return TRUE;
    record.add(name, std::string{order} + "f4", floats, size,
               ", (" + std::to_string(record.rows) + ", " + std::to_string(record.columns) + ")");
  }
  return TRUE;
}

/// What NumPy's description of the format, version 1.0, says: the data begin at a multiple of 64.
std::string npy_header(const std::string& types) {
  constexpr std::size_t fixed = 10;
  std::string text = "{'descr': [" + types + "], 'fortran_order': False, 'shape': (), }";
  text.append(63 - (fixed + text.size()) % 64, ' ');
  text += '\n';
  const auto length = static_cast<std::uint16_t>(text.size());
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(length & 0xff) +
         static_cast<char>(length >> 8) + text;
}

// ---- ZIP ------------------------------------------------------------------------------------

/// Appends numbers, of the lowest byte first.
class Bytes {
 public:
  Bytes& u16(std::uint64_t number) { return put(number, 2); }
  Bytes& u32(std::uint64_t number) { return put(number, 4); }
  Bytes& u64(std::uint64_t number) { return put(number, 8); }
  Bytes& text(const std::string& text) {
    made += text;
    return *this;
  }
  std::string made;

 private:
  Bytes& put(std::uint64_t number, int count) {
    for (int i = 0; i < count; ++i) made += static_cast<char>(number >> 8 * i & 0xff);
    return *this;
  }
};

constexpr std::uint32_t in_zip64 = 0xffffffff;  ///< the value is where it has 64 bits
constexpr int version = 45;                     ///< of the format: ZIP64
constexpr int first_of_1980 = 0x21;             ///< the earliest date

std::string name_of(std::size_t number) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%08zu.npy", number);
  return text.data();
}

/// What the entry and the directory say alike: neither flags nor compression nor a time.
Bytes& describe(Bytes& bytes, std::uint32_t crc, std::uint32_t size, std::size_t length_of_name) {
  return bytes.u16(version)
      .u16(0)
      .u16(0)
      .u16(0)
      .u16(first_of_1980)
      .u32(crc)
      .u32(size)
      .u32(size)
      .u16(length_of_name);
}

}  // namespace

std::string npy_record(std::initializer_list<const GstStructure*> structures) {
  Record record;
  for (const GstStructure* structure : structures) {
    gst_structure_get_int(structure, "rows", &record.rows);
    gst_structure_get_int(structure, "columns", &record.columns);
  }
  for (const GstStructure* structure : structures)
    gst_structure_foreach(structure, add_field, &record);
  return npy_header(record.types) + record.bytes;
}

std::string NpzIndex::add(const std::string& file) {
  if (file.size() >= in_zip64) throw std::length_error("a frame's record has 4 GiB or more");
  const std::string name = name_of(entries_.size());
  const auto size = static_cast<std::uint32_t>(file.size());
  const auto crc = static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(file.data()), file.size()));
  Bytes bytes;
  bytes.u32(0x04034b50);
  describe(bytes, crc, size, name.size()).u16(0).text(name).text(file);
  const std::uint64_t offset = empty() ? 0 : entries_.back().offset + entries_.back().bytes;
  entries_.push_back({offset, bytes.made.size(), crc, size});
  return std::move(bytes.made);
}

std::size_t NpzIndex::drop_last() {
  if (empty()) return 0;
  const std::uint64_t bytes = entries_.back().bytes;
  entries_.pop_back();
  return bytes;
}

std::string NpzIndex::directory() const {
  Bytes bytes;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    const std::string name = name_of(i);
    bytes.u32(0x02014b50).u16(version);
    describe(bytes, entry.crc, entry.size, name.size()).u16(12).u16(0).u16(0).u16(0).u32(0);
    bytes.u32(in_zip64).text(name).u16(1).u16(8).u64(entry.offset);
  }
  const std::uint64_t begin = empty() ? 0 : entries_.back().offset + entries_.back().bytes;
  const std::uint64_t size = bytes.made.size(), count = entries_.size();
  bytes.u32(0x06064b50).u64(44).u16(version).u16(version).u32(0).u32(0);
  bytes.u64(count).u64(count).u64(size).u64(begin);
  bytes.u32(0x07064b50).u32(0).u64(begin + size).u32(1);
  bytes.u32(0x06054b50).u16(0).u16(0).u16(0xffff).u16(0xffff).u32(in_zip64).u32(in_zip64).u16(0);
  return std::move(bytes.made);
}

}  // namespace cudaxcorr
