// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Structures as records of a file that `numpy.load` reads (.npz): a ZIP archive of .npy files, one
// for each frame, as they are, without compression.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <gst/gst.h>

namespace cudaxcorr {

/// A .npy file with a single record of the fields of all these structures that NumPy has types for.
/// GBytes are arrays of 32-bit floats of the shape (`rows`, `columns`), two of the fields.
std::string npy_record(std::initializer_list<const GstStructure*> structures);

/// What an archive says of its entries.
class NpzIndex {
 public:
  /// The bytes that add a file to the archive. Their names are numbers of eight digits, from 0.
  std::string add(const std::string& file);
  /// Forgets the entry that was added last. Returns how many bytes of the archive it was.
  std::size_t drop_last();
  bool empty() const { return entries_.empty(); }
  /// The bytes that end the archive.
  std::string directory() const;

 private:
  struct Entry {
    std::uint64_t offset, bytes;  ///< in the archive
    std::uint32_t crc, size;      ///< of the file
  };

  std::vector<Entry> entries_;
};

}  // namespace cudaxcorr
