// The loss of every token of a split in an HDF5 file, by its offset in the split, for comparisons and analysis
// elsewhere.
//
//   nll      [n] float32, nats: of token i given those before it; NaN where it was not scored, as the first never is
//   targets  [n] int32: token i
//   token_bytes [n] int32: bytes of text that token i stands for, where that is known; their sum is the text's
//   right    [n] float32, of marked data alone: 1 where token i begins an answer all of whose tokens were the most
//            likely ones, 0 where it begins another, NaN elsewhere
//   runs     [r] int64, of data that consists of examples: tokens of each run of examples of one kind, one after
//   another
// Attributes of the file, absent or empty where they are not known:
//   format "segue-per-token", version 1
//   dataset, split: checksum of the tokens, and which part of the dataset they are
//   tokenizer, tokenizer_checksum, unit: its kind and checksum, and what a token is ("byte", "word", ...)
//   bytes: of the text that the split's tokens stand for; there where token_bytes is
//   answers: of marked data, how many of them there are in `right`; example_runs: how many there are in `runs`
//   unknown_token: the token that stands for what the vocabulary does not have; there where it has one
//   context, mem_len, tgt_len: the most tokens a query could attend to, of memory and segment
//   checkpoint: the model's
// Other programs' files need nll and targets only, of any float and integer type; whole numbers of attributes may be
// floating-point ones and texts. For bits per byte of tokens that are no bytes, they need token_bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data_pipeline/hdf5/bytes.h"

namespace segue {

struct PerTokenInfo {
  std::string dataset = {};
  std::string split = {};
  std::string tokenizer = {};
  std::string tokenizer_checksum = {};
  std::string unit = {};
  std::string checkpoint = {};
  int64_t bytes = -1;  // -1: not known
  int64_t answers = -1;
  int64_t example_runs = -1;
  int64_t unknown_token = -1;
  int64_t context = -1;
  int64_t mem_len = -1;
  int64_t tgt_len = -1;
};

struct PerTokenLosses {
  PerTokenInfo info;
  std::vector<float> nll = {};
  std::vector<int32_t> targets = {};
  std::vector<int32_t> token_bytes = {};  // or empty
  std::vector<float> right = {};          // or empty
  std::vector<int64_t> runs = {};         // likewise
};

// Throws FileError when the disk refuses; the file is whole or not there.
void write_per_token_file(const std::filesystem::path& path, const PerTokenLosses& losses);

// Throws DataError naming file and dataset or attribute, expected and found.
PerTokenLosses read_per_token_file(const std::filesystem::path& path);
PerTokenLosses read_per_token_file(const Hdf5Bytes& file);

}  // namespace segue
