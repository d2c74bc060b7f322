// Per-token files of several models at several contexts, checked to be about the same tokens.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/evaluation/effective_context.h"
#include "core/evaluation/same_tokens.h"

namespace segue {

class ComparedLosses {
 public:
  // Reads every file once. Throws as compare_effective_contexts says.
  explicit ComparedLosses(const std::vector<ContextFiles>& models);

  const std::vector<int64_t>& contexts() const { return contexts_; }  // ascending
  int64_t tokens() const;                                             // that every file scores
  std::vector<float> losses(size_t model, size_t context) const;      // of those tokens

 private:
  struct File {
    std::filesystem::path path;
    int64_t context = 0;
  };
  void add(const std::string& argument, std::vector<File>& files);
  void check_contexts(const std::vector<ContextFiles>& models) const;

  std::vector<std::vector<File>> files_;  // of every model, by context
  std::vector<int64_t> contexts_;
  SameTokens same_tokens_;
  std::vector<bool> scored_;  // in every file
};

}  // namespace segue
