// NumPy's .npz: a zip archive with one .npy file per array, read without trusting it.
#pragma once

#include <zip.h>

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/convert/npy_header.h"
#include "core/convert/weight_file.h"

namespace segue {

// Opening reads every array's header; an array's elements are read when they are asked for.
class NpzFile : public WeightFile {
 public:
  // Throws FileError, and CheckpointError naming file and member when the archive is damaged or encrypted, a member is
  // no .npy file (see read_npy_header), appears twice, differs in size from its shape, or unpacks to far more than
  // weights do.
  explicit NpzFile(const std::filesystem::path& path);

  // The same from memory owned by someone else; `source` stands for the file in messages.
  NpzFile(std::string source, std::span<const std::byte> bytes);

  const std::string& source() const override { return source_; }
  std::vector<std::string> names() const override;
  bool contains(const std::string& name) const override { return members_.contains(name); }
  Shape shape(const std::string& name) const override { return member(name).header.shape; }
  HostTensor read(const std::string& name) const override;  // also throws CheckpointError for a wrong CRC

 private:
  struct Close {
    void operator()(zip_t* archive) const { zip_discard(archive); }
  };
  struct Member {
    zip_uint64_t index = 0;
    std::string where;  // file and member, for messages
    NpyHeader header;
  };

  void open(zip_source_t* source);
  zip_uint64_t check_directory();
  std::string where_of(const zip_stat_t& stat) const;
  void read_headers();
  const Member& member(const std::string& name) const;

  std::string source_;
  std::unique_ptr<zip_t, Close> archive_;
  std::map<std::string, Member> members_;
};

}  // namespace segue
