// Losses of several evaluations at the same tokens, by region of what they score.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/evaluation/loss_statistics.h"
#include "core/evaluation/loss_units.h"
#include "core/evaluation/same_tokens.h"

namespace segue {

class PairedLosses {
 public:
  struct Evaluation {
    std::filesystem::path path;
    PerTokenInfo info;
    LossMean losses;
    std::optional<LossMean> answers = {};  // means of 1, right, and 0; of marked data
  };

  // Adds those of a per-token file (per_token_file.h), of which no more than the regions' sums is kept. Throws
  // DataError naming two files and how they differ when they are not about the same tokens or do not score the same
  // ones.
  void add(const std::filesystem::path& path);

  const std::vector<Evaluation>& evaluations() const { return evaluations_; }  // in the order of the files
  int64_t tokens() const { return tokens_; }                                   // that every file scores
  std::string split() const { return same_tokens_.attribute("split"); }        // empty where no file says it
  std::string unit() const;
  // Of these tokens; none where no file says which token is the unknown one.
  const std::optional<UnknownTokens>& unknown() const { return unknown_; }
  // Of the scored tokens and the text that they stand for; 0 where no file says how many bytes each is.
  double tokens_per_byte() const {
    return bytes_ > 0 ? static_cast<double>(tokens_) / static_cast<double>(bytes_) : 0.0;
  }

 private:
  [[noreturn]] void refuse(const std::filesystem::path& path, const std::vector<bool>& scored) const;

  std::vector<Evaluation> evaluations_;
  SameTokens same_tokens_;
  std::vector<bool> scored_;
  int64_t tokens_ = 0;
  int64_t bytes_ = 0;  // that those stand for
  std::optional<UnknownTokens> unknown_;
};

}  // namespace segue
