#include "core/compare/process_notes.h"

#include <fmt/format.h>

#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/json_text.h"
#include "core/report/json_node.h"

namespace segue {
namespace {

std::filesystem::path file_of(const std::filesystem::path& directory, const ComparedRun& run) {
  return directory / "processes" / (run.name() + ".jsonl");
}

}  // namespace

void add_note(const std::filesystem::path& directory, const ComparedRun& run, const ProcessNote& note) {
  const OrderedJson line{{"run", run.name()},
                         {"command", note.command},
                         {"code", note.code},
                         {"seconds", note.seconds},
                         {"peak_bytes", note.peak_bytes}};
  const std::filesystem::path file = file_of(directory, run);
  make_directories(file.parent_path());
  write_file_atomically(file, (path_exists(file) ? read_file(file) : "") + line.dump() + "\n");
}

std::vector<ProcessNote> notes_of(const std::filesystem::path& directory, const ComparedRun& run) {
  const std::filesystem::path file = file_of(directory, run);
  std::vector<ProcessNote> notes;
  if (!path_exists(file)) return notes;
  std::istringstream lines(read_file(file));
  for (std::string text; std::getline(lines, text);) {
    const std::string source = fmt::format("{}, line {}", file.string(), notes.size() + 1);
    const Json json = parse_json<DataError>(text, source);
    const report::JsonNode line(json, source);
    notes.push_back({.command = line.at("command").text(),
                     .code = line.at("code").integer(),
                     .seconds = line.at("seconds").number(),
                     .peak_bytes = line.at("peak_bytes").integer()});
  }
  return notes;
}

}  // namespace segue
