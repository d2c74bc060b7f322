// Strips from names of tensors the prefixes of wrappers that PyTorch puts around a module.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace segue {

struct UnwrappedNames {
  std::map<std::string, std::string> in_file;  // by the model's own name
  std::string left_out;                        // of a name, as "module._orig_mod."; empty: nothing
};

// Leaves out the parts of names that torch.compile, FSDP and activation checkpoints add, and what stands before the
// names of all tensors, as "module." of DataParallel does. Throws CheckpointError when two names become one.
UnwrappedNames unwrapped_names(const std::vector<std::string>& names, const std::string& source);

}  // namespace segue
