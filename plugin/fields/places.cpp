// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fields/places.h"

#include <algorithm>
#include <charconv>
#include <new>
#include <optional>
#include <utility>

#include "matching/file_contents.h"

namespace cudaxcorr::fields {
namespace {

constexpr std::string_view space = " \t\r";
constexpr char quote = '\x22';  ///< by its code: tests pair the quotes in sources

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(space), text.size()));
  return text.substr(0, text.find_last_not_of(space) + 1);
}

/// Takes what is before the separator and that itself off the text. Between double quotes it
/// separates nothing.
std::string_view take(std::string_view& text, char separator) {
  std::size_t end = 0;
  for (bool quoted = false; end < text.size() && (quoted || text[end] != separator); ++end)
    if (text[end] == quote) quoted = !quoted;
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

std::string_view take_field(std::string_view& line) {
  std::string_view field = trimmed(take(line, ','));
  if (field.size() > 1 && field.front() == quote && field.back() == quote)
    field = trimmed(field.substr(1, field.size() - 2));
  return field;
}

std::optional<float> number_in(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  float number;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// The numbers of the fields that have x and y.
struct Columns {
  int x = -1, y = -1;
};

bool has_names(std::string_view line) { return !number_in(take_field(line)); }

Columns columns_named_in(std::string_view line) {
  Columns columns;
  for (int i = 0; !line.empty(); ++i) {
    const std::string_view name = take_field(line);
    if (name == "x") columns.x = i;
    if (name == "y") columns.y = i;
  }
  return columns;
}

std::optional<xcorr::FieldPlace> place_in(std::string_view line, Columns columns) {
  std::optional<float> x, y;
  for (int i = 0; !line.empty() && i <= std::max(columns.x, columns.y); ++i) {
    const std::string_view field = take_field(line);
    if (i == columns.x) x = number_in(field);
    if (i == columns.y) y = number_in(field);
  }
  if (!x || !y) return std::nullopt;
  return xcorr::FieldPlace{*x, *y};
}

}  // namespace

std::vector<xcorr::FieldPlace> places_in(std::string_view csv, std::string& reason) {
  if (csv.starts_with("\xef\xbb\xbf")) csv.remove_prefix(3);  // as spreadsheets begin UTF-8
  std::vector<xcorr::FieldPlace> places;
  Columns columns{0, 1};
  bool is_first = true;
  for (int number = 1; !csv.empty(); ++number) {
    const std::string_view line = trimmed(take(csv, '\n'));
    if (line.empty()) continue;
    if (std::exchange(is_first, false) && has_names(line)) {
      columns = columns_named_in(line);
      if (columns.x >= 0 && columns.y >= 0) continue;
      reason = "no columns x and y";
      return {};
    }
    const auto place = place_in(line, columns);
    if (!place) {
      reason = "line " + std::to_string(number) + " has no x and y";
      return {};
    }
    places.push_back(*place);
  }
  if (places.empty()) reason = "no places";
  return places;
}

SharedPlaces read_places(const std::string& file, Fault& fault) {
  std::string reason;
  SharedPlaces places;
  try {
    if (const Contents contents = read_file(file, reason))
      places = std::make_shared<Places>(Places{file, places_in(view(contents), reason)});
  } catch (const std::bad_alloc&) {
    reason = "there is no memory for the file";
  }
  if (reason.empty()) return places;
  fault = {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ,
           "Cannot read the places file '" + file + "': " + reason};
  return nullptr;
}

}  // namespace cudaxcorr::fields
