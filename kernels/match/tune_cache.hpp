// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The results of kernel=tune, kept between programs in a text file of the user's cache folder: one
// line per answer, which users may read, change and delete. The file is replaced as a whole, so
// that nobody reads half of it; if two processes write at the same moment one may lose its answers,
// which are then measured again.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <system_error>

namespace xcorr {

struct TuneAnswer {
  std::string kernel;
  std::string note;  ///< for users: how it was found
};

/// By problem. No text in it has tabs or line ends.
using TuneAnswers = std::map<std::string, TuneAnswer>;

/// Where the answers are; empty when the environment names neither a cache folder nor a home.
std::filesystem::path tune_file();

/// Lines that are not answers are skipped, and a file that cannot be read has none.
TuneAnswers read_answers(const std::filesystem::path& file);

/// Adds these to the answers in the file, creating it and its folder if needed.
std::error_code add_answers(const std::filesystem::path& file, const TuneAnswers& answers);

}  // namespace xcorr
