// Checks that per-token files are about the same tokens, so that their losses may be compared one by one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/evaluation/per_token_file.h"

namespace segue {

class SameTokens {
 public:
  // Throws DataError naming this file, the one before it that it differs from, and how they differ. An attribute that a
  // file does not have is not compared.
  void check(const std::filesystem::path& path, const PerTokenLosses& losses);

  // The bytes of text of every token; empty: no file so far has them, and tokens are no bytes.
  std::vector<int32_t> token_bytes() const;

  // The value of the attribute in the files checked so far; empty: none has it.
  std::string attribute(const std::string& name) const;

 private:
  struct Said {
    std::string value;
    std::filesystem::path path;  // of the first file that says so
  };
  struct Text {
    PerTokenInfo info;
    std::filesystem::path path;
  };
  void check_text(const std::filesystem::path& path, const PerTokenInfo& info);
  void check_attribute(const std::string& name, const std::string& value, const std::filesystem::path& path);

  std::map<std::string, Said> said_;
  std::optional<Text> text_;  // of the first file that says which dataset it is of
  std::filesystem::path first_path_;
  std::vector<int32_t> targets_;
  std::vector<int32_t> token_bytes_;  // of the first file that has them
  std::filesystem::path bytes_path_;
};

}  // namespace segue
