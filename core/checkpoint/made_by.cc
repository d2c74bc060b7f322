#include "core/checkpoint/made_by.h"

#include <fmt/format.h>

#include <sstream>

#include "base/error.h"
#include "base/json_text.h"
#include "base/text.h"

namespace segue {

void MadeBy::describe(JsonFields& fields) {
  fields.required("program", program, {.meaning = "version, and the commit it was built from where that is known"});
  fields.required("host", host, {.meaning = "of the first rank"});
  fields.required("device", device, {.meaning = "of the first rank, and what code it runs there"});
  fields.required("threads", threads, {.meaning = "of the first rank", .minimum = 0});
  fields.required("ranks", ranks, {.meaning = "of the job", .minimum = 1});
  fields.required("began", began, {.meaning = "when the process began to train, in UTC"});
  fields.required("from_step", from_step, {.meaning = "that it went on from", .unit = "steps", .minimum = 0});
  fields.optional("data", data, {.meaning = "absolute path of the dataset"});
}

std::string made_by_text(const MadeBy& made_by) { return write_fields(made_by).dump(2) + "\n"; }

std::vector<MadeBy> parse_sessions(const std::string& text) {
  std::vector<MadeBy> sessions;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    try {
      const Json document = parse_json<CheckpointError>(line, kSessionsFile);
      sessions.push_back(read_fields<CheckpointError, MadeBy>(document, kSessionsFile));
    } catch (const CheckpointError&) {
      continue;
    }
  }
  return sessions;
}

std::string describe_made_by(const MadeBy& made_by) {
  return fmt::format("{} on {}, {} of {}, {}; {}, from step {}", made_by.program, made_by.host,
                     counted(made_by.ranks, "rank"), counted(made_by.threads, "thread"), made_by.device, made_by.began,
                     made_by.from_step);
}

}  // namespace segue
