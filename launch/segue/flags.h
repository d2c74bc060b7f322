// The flags of a command: the keys of its options, as they describe themselves (base/json_fields.h).
//
//   struct ReportOptions {
//     std::vector<std::string> runs;
//     std::string output = "report.html";
//     void describe(JsonFields& fields) {
//       fields.required("runs", runs, {.meaning = "directories of runs", .flag = {.is_positional = true}});
//       fields.optional("output", output, {.meaning = "the page", .flag = {.value = "FILE"}});
//     }
//   };
//   add_command(app, "report", "Write a page that shows and compares runs", kExamples, run_report);
//
// Key mem_len is flag --mem-len. One that may be unnamed also takes the words that belong to no flag. A bool has no
// value, and a std::optional<bool> has --no-... beside it; numbers of a list may stand between commas. What breaks the
// description is refused as a config is, with the name of the flag.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json_fields.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's, whose headers take long to compile
class App;
class Option;
}  // namespace CLI

namespace segue {

// The untyped halves of the templates below. `prototype` describes default-built options.
CLI::App& add_described_command(CLI::App& app, const std::string& name, const std::string& purpose,
                                const std::string& examples, const Describe& prototype,
                                std::function<void(const CLI::App& command)> run);
void read_described_flags(const CLI::App& command, const Describe& describe);

// Over the values already in `options`, those of the flags that were given.
template <DescribedStruct T>
void read_flags(const CLI::App& command, T& options) {
  read_described_flags(command, [&options](JsonFields& fields) { options.describe(fields); });
}

// A command that has the keys of T as its flags; `run` reads them.
template <DescribedStruct T>
CLI::App& add_command_reading(CLI::App& app, const std::string& name, const std::string& purpose,
                              const std::string& examples, std::function<void(const CLI::App& command)> run) {
  const Describe prototype = [](JsonFields& fields) { T{}.describe(fields); };
  return add_described_command(app, name, purpose, examples, prototype, std::move(run));
}

template <DescribedStruct T>
CLI::App& add_command(CLI::App& app, const std::string& name, const std::string& purpose, const std::string& examples,
                      void (*run)(const T& options)) {
  return add_command_reading<T>(app, name, purpose, examples, [run](const CLI::App& command) {
    T options;
    read_flags(command, options);
    run(options);
  });
}

// The first flag is refused without the second, or beside it.
void flag_needs(CLI::App& command, const std::string& flag, const std::string& other);
void flag_excludes(CLI::App& command, const std::string& flag, const std::string& other);

// The words that a flag of a choice takes; none for other flags.
std::vector<std::string> choices_of_flag(const CLI::Option& option);

}  // namespace segue
