// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A file decoded with cudaxcorr behind the decoder and without, in turns: what the element costs a
// pipeline whose frames another device makes.
#pragma once

#include <string>

#include "scene.hpp"

namespace bench {

struct DecodeResult {
  int frames = 0;                             ///< of the file
  int unanalysed = 0;                         ///< in all turns
  double bare_per_s = 0, analysed_per_s = 0;  ///< frames per second, medians of the turns
  std::string kernel;
};

/// `decoder` is what stands between the parser and cudaxcorr, `element` the properties of the
/// latter.
DecodeResult decode(const Scene& scene, const std::string& file, const std::string& decoder,
                    const std::string& element);

}  // namespace bench
