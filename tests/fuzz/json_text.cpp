// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Any structures as a line of JSON.
#include "json/json_text.h"

#include <json-glib/json-glib.h>

#include "structure.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  start_gstreamer();
  Bytes bytes(data, size);
  GstStructure* first = bytes.flag() ? take_structure(bytes, 2) : nullptr;
  GstStructure* second = take_structure(bytes, 4);
  const std::string line = cudaxcorr::json_text({first, second});
  if (first) gst_structure_free(first);
  gst_structure_free(second);

  // JSON-GLib's parser allows more than JSON does.
  require(g_utf8_validate_len(line.data(), line.size(), nullptr), "a line is UTF-8");
  require(std::none_of(line.begin(), line.end(), [](char c) { return g_ascii_iscntrl(c); }),
          "a line has no control characters");
  JsonParser* parser = json_parser_new();
  require(
      json_parser_load_from_data(parser, line.data(), static_cast<gssize>(line.size()), nullptr),
      "a line can be parsed");
  require(JSON_NODE_HOLDS_OBJECT(json_parser_get_root(parser)), "a line is an object");
  g_object_unref(parser);
  return 0;
}
