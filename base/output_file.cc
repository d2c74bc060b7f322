// What stands there is told by its first bytes, of JSON by its keys.
#include "base/output_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <system_error>

#include "base/directory_content.h"
#include "base/document_kind.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/text.h"

namespace segue {

namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestBeginning = 40;

std::string_view words_of(OutputKind kind) {
  switch (kind) {
    case OutputKind::kGeneration:
      return "the result of segue generate";
    case OutputKind::kBenchmark:
      return "the result of segue bench";
    case OutputKind::kPairedDifference:
      return "the result of segue paired-difference";
    case OutputKind::kPairedCsv:
      return "CSV of segue paired-difference";
    case OutputKind::kEffectiveContext:
      return "the result of segue effective-context";
    case OutputKind::kModelArguments:
      return "arguments of segue export";
    case OutputKind::kExportedWeights:
      return "weights of segue export";
    case OutputKind::kPage:
      return "a page of segue report";
    case OutputKind::kPicture:
      return "a picture of Segue";
  }
  throw ContractError("an output of kind {}", static_cast<int>(kind));
}

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

// Whether `beginning`, of the file at `path`, is that of such an output.
bool is_of_kind(const fs::path& path, std::string_view beginning, OutputKind kind) {
  const auto has = [beginning](std::string_view words) { return beginning.find(words) != std::string_view::npos; };
  switch (kind) {
    case OutputKind::kGeneration:
      return kind_of_file(path) == DocumentKind::kGeneration;
    case OutputKind::kBenchmark:
      return kind_of_file(path) == DocumentKind::kBenchmark;
    case OutputKind::kPairedDifference:
      return kind_of_file(path) == DocumentKind::kPairedDifference;
    case OutputKind::kEffectiveContext:
      return kind_of_file(path) == DocumentKind::kEffectiveContext;
    case OutputKind::kModelArguments:
      return kind_of_file(path) == DocumentKind::kModelArguments;
    case OutputKind::kPairedCsv:
      return beginning.starts_with(kCsvOfPairs);
    case OutputKind::kExportedWeights:
      return beginning.size() > 8 && beginning[8] == '{' && has(fmt::format(R"("program":"{}")", kExportedBy));
    case OutputKind::kPage:
      return beginning.starts_with("<!DOCTYPE html>") && has("default-src 'none'; style-src 'unsafe-inline'");
    case OutputKind::kPicture:
      return beginning.starts_with("<svg") && first_line(beginning).find("role=\"img\"") != std::string_view::npos;
  }
  throw ContractError("an output of kind {}", static_cast<int>(kind));
}

// The run, dataset, checkpoint or comparison that a file lies in; nothing where it lies in none.
std::optional<fs::path> whole_around(const fs::path& path) {
  constexpr int kDeepest = 5;  // comparisons/a/runs/xl-1/checkpoints/best/state.json
  constexpr std::array kWholes{DirectoryKind::kRun, DirectoryKind::kDataset, DirectoryKind::kCheckpoint,
                               DirectoryKind::kComparison};
  std::error_code error;
  fs::path place = fs::weakly_canonical(path, error);
  for (int above = 0; !error && above < kDeepest && place.has_relative_path(); ++above) {
    place = place.parent_path();
    const auto is_whole = [&](DirectoryKind kind) { return std::ranges::find(kWholes, kind) != kWholes.end(); };
    if (std::ranges::any_of(kinds_in(place), is_whole)) return place;
  }
  return std::nullopt;
}

// What stands at the path of an output and is none of its kind; empty where nothing or such a one does.
std::string other_content(const OutputFile& output) {
  std::error_code error;
  if (!fs::is_regular_file(output.path, error)) return {};
  const std::string beginning = read_beginning(output.path);
  if (beginning.empty()) {
    const std::optional<fs::path> whole = whole_around(output.path);
    return whole ? fmt::format("an empty file in {}, {}", shell_word(whole->string()), describe_content(*whole)) : "";
  }
  if (is_of_kind(output.path, beginning, output.kind)) return {};
  if (whole_of_file(output.path) || kind_of_file(output.path) != DocumentKind::kUnknown)
    return describe_path(output.path);
  return fmt::format("one that begins \"{}\"", printable_line(beginning, kLongestBeginning));
}

bool is_same_file(const fs::path& one, const fs::path& other) {
  std::error_code error;
  if (fs::equivalent(one, other, error)) return true;
  const fs::path place = fs::weakly_canonical(fs::absolute(behind_links(one)), error);
  return !error && place == fs::weakly_canonical(fs::absolute(behind_links(other)), error) && !error;
}

std::string called(const OutputFile& output) {
  return fmt::format("{} {}", output.flag, shell_word(output.path.string()));
}

}  // namespace

void check_output_files(const std::vector<OutputFile>& outputs, const std::vector<fs::path>& inputs) {
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    if (output->path.empty() || is_stream(output->path)) continue;
    const auto is_same = [output](const fs::path& other) {
      return !other.empty() && is_same_file(other, output->path);
    };
    if (std::ranges::any_of(inputs, is_same))
      throw UsageError("{}: expected another file than those that are read, found one of them; name another",
                       called(*output));
    const auto other =
        std::find_if(outputs.begin(), output, [&](const OutputFile& each) { return is_same(each.path); });
    if (other != output)
      throw UsageError("{}: expected another file than {}, found the same; name another", called(*output),
                       called(*other));
    if (const std::string found = other_content(*output); !found.empty())
      throw UsageError("{}: expected {} to replace, or no such file; found {}; name another", called(*output),
                       words_of(output->kind), found);
  }
  for (const OutputFile& output : outputs)
    if (!output.path.empty()) check_writable(output.path);
}

std::string mistake_in_output_name(std::string_view name) {
  if (name.find_first_not_of(" \t\r\n") == std::string_view::npos) return "; a name is not blank";
  if (name == "-") return "; it is written to a file: /dev/stdout is standard output, and ./- a file of that name";
  if (name.starts_with('~'))
    return name == "~" || name.starts_with("~/") ? hint_at_missing(name)
                                                 : fmt::format("; a name that begins with ~ is written ./{}", name);
  const size_t scheme = name.find("://");
  if (scheme != std::string_view::npos && scheme > 1 && name.find('/') == scheme + 1)
    return "; it is written to a file on this machine: name one";
  return {};
}

}  // namespace segue
