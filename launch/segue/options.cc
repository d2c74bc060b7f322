#include "launch/segue/options.h"

namespace segue {

void describe_overrides(JsonFields& fields, std::vector<std::string>& overrides) {
  fields.optional("set", overrides,
                  {.meaning = "replace a value of the config, such as model.mem_len=256",
                   .flag = {.value = "KEY=VALUE", .is_repeated = true}});
}

}  // namespace segue
