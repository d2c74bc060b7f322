// Options that several commands have.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "core/config/kinds.h"

namespace segue {

// Limits of a number on the command line. CLI11's own checks name their limits with 300 digits.
CLI::Validator at_least(double least);
CLI::Validator between(double least, double most);

// One of these words: an error names them all, and the one that was meant.
CLI::Validator one_of(const std::vector<std::string>& words);

// The words of a choice.
template <typename Choice>
std::vector<std::string> words_of(Choice choice) {
  const auto words = choices_of(choice);
  return {words.begin(), words.end()};
}

// An option that takes one of the words of a choice; what `chosen` holds is the default.
template <typename Choice>
CLI::Option* add_choice(CLI::App& command, const std::string& names, Choice& chosen, const std::string& meaning) {
  const auto words = choices_of(chosen);
  const auto choose = [&chosen, words](const std::string& word) {
    chosen = static_cast<Choice>(std::find(words.begin(), words.end(), word) - words.begin());
  };
  return command.add_option_function<std::string>(names, choose, meaning)
      ->check(one_of(words_of(chosen)))
      ->default_str(std::string(words[static_cast<size_t>(chosen)]));
}

// The options of commands that compute without a config: on which device, and in which precision.
void add_place_options(CLI::App& command, std::string& device, PrecisionKind& precision);

}  // namespace segue
