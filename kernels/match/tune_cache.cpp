// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/tune_cache.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <optional>
#include <utility>
#include <vector>

namespace xcorr {
namespace {

namespace fs = std::filesystem;

using Line = std::pair<std::string, TuneAnswer>;

/// The oldest lines are dropped first, so that the file does not grow forever.
constexpr std::size_t max_lines = 1000;

constexpr char heading[] =
    "# What kernel=tune of cudaxcorr found fastest. Delete lines, or the file, to have it measured "
    "anew.\n";

/// The absolute folder named by an environment variable, or an empty path.
fs::path folder_of(const char* variable) {
  const char* value = std::getenv(variable);
  const fs::path folder = value ? value : "";
  return folder.is_absolute() ? folder : fs::path();
}

std::optional<Line> parse(const std::string& text) {
  const std::size_t first = text.find('\t'), second = text.find('\t', first + 1);
  if (text.starts_with('#') || first == text.npos || second == text.npos) return std::nullopt;
  Line line{text.substr(0, first),
            {text.substr(first + 1, second - first - 1), text.substr(second + 1)}};
  if (line.first.empty() || line.second.kernel.empty()) return std::nullopt;
  return line;
}

std::vector<Line> read(const fs::path& file) {
  std::vector<Line> lines;
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return lines;
  std::ifstream in(file);
  for (std::string text; std::getline(in, text);)
    if (auto line = parse(text)) lines.push_back(std::move(*line));
  return lines;
}

bool write(const fs::path& file, const std::vector<Line>& lines) {
  std::ofstream out(file);
  out << heading;
  for (const auto& [problem, answer] : lines)
    out << problem << '\t' << answer.kernel << '\t' << answer.note << '\n';
  out.close();
  return out.good();
}

std::error_code last_error() { return {errno ? errno : EIO, std::generic_category()}; }

/// A new empty file beside `file`.
std::error_code make_temporary(const fs::path& file, fs::path& temporary) {
  std::string name = file.string() + ".XXXXXX";
  const int descriptor = mkstemp(name.data());
  if (descriptor < 0) return last_error();
  close(descriptor);
  temporary = name;
  return {};
}

}  // namespace

fs::path tune_file() {
  fs::path folder = folder_of("XDG_CACHE_HOME");
  if (folder.empty()) {
    const fs::path home = folder_of("HOME");
    if (home.empty()) return {};
    folder = home / ".cache";
  }
  return folder / "cudaxcorr" / "tuned-kernels.txt";
}

TuneAnswers read_answers(const fs::path& file) {
  TuneAnswers answers;
  for (Line& line : read(file)) answers.insert_or_assign(line.first, std::move(line.second));
  return answers;
}

std::error_code add_answers(const fs::path& file, const TuneAnswers& answers) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error) return error;
  std::vector<Line> lines = read(file);
  std::erase_if(lines, [&](const Line& line) { return answers.contains(line.first); });
  lines.insert(lines.end(), answers.begin(), answers.end());
  if (lines.size() > max_lines) lines.erase(lines.begin(), lines.end() - max_lines);

  fs::path temporary;
  if ((error = make_temporary(file, temporary))) return error;
  errno = 0;
  if (!write(temporary, lines))
    error = last_error();
  else
    fs::rename(temporary, file, error);
  std::error_code ignored;
  if (error) fs::remove(temporary, ignored);
  return error;
}

}  // namespace xcorr
