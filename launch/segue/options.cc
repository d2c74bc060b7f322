#include "launch/segue/options.h"

namespace segue {

// Read by add_described_command.
void describe_extensions(JsonFields& fields) {
  std::vector<std::string> paths;
  describe_extensions(fields, paths);
}

void describe_extensions(JsonFields& fields, std::vector<std::string>& paths) {
  fields.optional(
      "extension", paths,
      {.meaning = "shared library with kinds of memory from outside Segue. It runs as the program does: load "
                  "what you trust",
       .flag = {.value = "FILE", .is_repeated = true}});
}

void describe_overrides(JsonFields& fields, std::vector<std::string>& overrides) {
  fields.optional("set", overrides,
                  {.meaning = "replace a value of the config, such as model.mem_len=256",
                   .flag = {.value = "KEY=VALUE", .is_repeated = true}});
  describe_extensions(fields);
}

}  // namespace segue
