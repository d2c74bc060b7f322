#include "launch/segue/help_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace segue {
namespace {

constexpr size_t kColumns = 80;
constexpr size_t kMeaning = 30;  // column where meanings begin
constexpr size_t kCommandIndent = 2;
constexpr size_t kGoingOnIndent = 4;  // of a command that goes on
constexpr size_t kFurtherIndent = 6;  // of other lines that go on, and of comments

std::string spaces(size_t count) { return fmt::format("{:{}}", "", count); }

size_t indent_of(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

// Words between spaces and ends of lines; with `is_shell`, what is in quotes is part of one.
std::vector<std::string> split_words(std::string_view text, bool is_shell) {
  std::vector<std::string> words;
  std::string word;
  char quote = '\0';
  for (const char c : text) {
    if (is_shell && (c == '\'' || c == '"') && (quote == '\0' || quote == c)) quote = quote == '\0' ? c : '\0';
    if ((c == ' ' || c == '\n') && quote == '\0') {
      if (!word.empty()) words.push_back(std::exchange(word, {}));
    } else {
      word += c;
    }
  }
  if (!word.empty()) words.push_back(word);
  return words;
}

// Breaks a list without spaces behind its commas.
std::vector<std::string> parts_of(const std::string& word, size_t longest) {
  std::vector<std::string> parts{""};
  for (size_t at = 0; at < word.size();) {
    const size_t end = std::min(word.find(',', at), word.size() - 1) + 1;
    if (!parts.back().empty() && parts.back().size() + end - at > longest) parts.emplace_back();
    parts.back() += word.substr(at, end - at);
    at = end;
  }
  return parts;
}

// Text from `column` on; lines that follow begin behind `prefix`.
std::string wrapped(std::string_view text, size_t column, const std::string& prefix) {
  std::string result;
  bool begins_line = true;
  for (const std::string& word : split_words(text, false)) {
    bool is_whole = true;
    for (const std::string& part : parts_of(word, kColumns - prefix.size())) {
      const size_t gap = begins_line || !is_whole ? 0 : 1;
      if (!begins_line && column + gap + part.size() > kColumns) {
        result.append("\n").append(prefix).append(part);
        column = prefix.size() + part.size();
      } else {
        result += std::string(gap, ' ') + part;
        column += gap + part.size();
      }
      begins_line = is_whole = false;
    }
  }
  return result;
}

std::string two_columns(const std::string& name, const std::string& meaning) {
  std::string text = spaces(kCommandIndent) + wrapped(name, kCommandIndent, spaces(kFurtherIndent));
  if (meaning.empty()) return text + "\n";
  const size_t last = text.size() - std::min(text.rfind('\n') + 1, text.size());
  const bool is_beside = text.find('\n') == std::string::npos && last < kMeaning;
  text += is_beside ? spaces(kMeaning - last) : "\n" + spaces(kMeaning);
  return text + wrapped(meaning, kMeaning, spaces(kMeaning)) + "\n";
}

// A flag with what follows it, up to the next flag.
std::vector<std::string> units_of(std::string_view command) {
  std::vector<std::string> units;
  for (std::string& word : split_words(command, true)) {
    if (units.empty() || word.starts_with("--")) {
      units.push_back(std::move(word));
    } else {
      units.back() += " " + word;
    }
  }
  return units;
}

std::string folded_command(std::string_view command) {
  constexpr std::string_view kGoesOn = " \\";
  const size_t most = kColumns - kGoesOn.size();
  std::string line = spaces(kCommandIndent);
  std::string result;
  bool begins_line = true;
  const auto add = [&](const std::string& words) {
    if (!begins_line && line.size() + 1 + words.size() > most) {
      result += line + std::string(kGoesOn) + "\n";
      line = spaces(kGoingOnIndent) + words;
    } else {
      line += (begins_line ? "" : " ") + words;
    }
    begins_line = false;
  };
  for (const std::string& unit : units_of(command)) {
    if (kGoingOnIndent + unit.size() <= most && !begins_line) {
      add(unit);
    } else {
      for (const std::string& word : split_words(unit, true)) add(word);
    }
  }
  return result + line + "\n";
}

std::string example(std::string_view line) {
  if (line.size() <= kColumns) return std::string(line) + "\n";
  const size_t comment = line.find("  #");
  if (comment == std::string_view::npos) return folded_command(line);
  const std::string prefix = spaces(kFurtherIndent) + "# ";
  const std::string_view said = line.substr(line.find('#', comment) + 1);
  return folded_command(line.substr(0, comment)) + prefix + wrapped(said, prefix.size(), prefix) + "\n";
}

// A line that is no example, with those that go on with its sentence.
std::string paragraph(const std::vector<std::string>& lines, size_t& at) {
  const size_t indent = indent_of(lines[at]);
  std::string text = lines[at++];
  while (at < lines.size() && !text.ends_with(':') && !lines[at].empty() && indent_of(lines[at]) == indent &&
         indent != kCommandIndent)
    text += " " + lines[at++];
  return spaces(indent) + wrapped(text, indent, spaces(indent)) + "\n";
}

// Commands that go on in a line below, each in one.
std::vector<std::string> joined_commands(const std::vector<std::string>& lines) {
  std::vector<std::string> joined;
  bool goes_on = false;
  for (const std::string& line : lines) {
    if (goes_on) {
      joined.back().pop_back();
      joined.back() += line.substr(indent_of(line));
    } else {
      joined.push_back(line);
    }
    goes_on = line.ends_with('\\');
  }
  return joined;
}

}  // namespace

std::string HelpFormat::make_option(const CLI::Option* option, bool is_positional) const {
  return two_columns(make_option_name(option, is_positional) + make_option_opts(option), make_option_desc(option));
}

std::string HelpFormat::make_subcommand(const CLI::App* command) const {
  return two_columns(command->get_display_name(true), command->get_description());
}

std::string HelpFormat::make_description(const CLI::App* command) const {
  const std::string text = wrapped(CLI::Formatter::make_description(command), 0, "");
  return text.empty() ? text : text + "\n";
}

std::string HelpFormat::make_usage(const CLI::App* command, std::string name) const {
  return wrapped(CLI::Formatter::make_usage(command, std::move(name)), 0, spaces(kFurtherIndent)) + "\n";
}

std::string HelpFormat::make_footer(const CLI::App* command) const {
  const std::vector<std::string> lines = joined_commands(CLI::detail::split(command->get_footer(), '\n'));
  std::string text;
  for (size_t at = 0; at < lines.size();) {
    if (lines[at].empty() || indent_of(lines[at]) == kCommandIndent) {
      text += example(lines[at++]);
    } else {
      text += paragraph(lines, at);
    }
  }
  return text;
}

}  // namespace segue
