// Puts errors of the command line into one line, like all other errors.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace segue {

// "unknown command trian; did you mean train?", or which there are where none is near.
std::string unknown_command(const std::string& word, const std::vector<std::string>& commands);

// The error for an unknown command or flag: the word, and the one that was probably meant.
// `typed`: the command line behind the program's name.
std::string usage_error(const CLI::App* app, const CLI::Error& error, const std::vector<std::string>& typed);

// What is wrong with a word that is KEY=VALUE, belongs to no flag and names no file, of the command's own or of these;
// empty: there is none, or no --set.
std::string stray_override(const CLI::App& command, std::vector<std::string> words = {});

// A flag whose value was forgotten, so that the next flag would be taken for it, or the "-x" that could be meant as a
// name: "prepare: --output: expected DIR after it, found the flag --force". Empty where there is none. Words are those
// behind the program's name.
std::string forgotten_value(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace segue
