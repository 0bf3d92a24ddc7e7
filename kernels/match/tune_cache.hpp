// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What kernel=tune found out, kept from one program to the next in a text file of the user's cache
// folder: a line an answer, which people may read, change and delete. The file is replaced as a
// whole, so that no one ever reads half of it; of two processes that write at the same moment one
// may lose its answers, which are then found anew.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <system_error>

namespace xcorr {

struct TuneAnswer {
  std::string kernel;
  std::string note;  ///< for people: how it was found
};

/// By problem. No text in it has tabs or line ends.
using TuneAnswers = std::map<std::string, TuneAnswer>;

/// Where the answers are; empty when the environment names neither a cache folder nor a home.
std::filesystem::path tune_file();

/// Lines that are no answers are passed over, and a file that cannot be read has none.
TuneAnswers read_answers(const std::filesystem::path& file);

/// Writes these to those that the file has, making it and its folder where need be.
std::error_code add_answers(const std::filesystem::path& file, const TuneAnswers& answers);

}  // namespace xcorr
