// Mutated texts, compressed ones among them: a text, or a DataError in one printable
// line.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "data_pipeline/text_file.h"
#include "tests/fuzz/demand.h"

namespace {

class Bytes : public segue::ByteStream {
 public:
  explicit Bytes(std::span<const uint8_t> bytes) : left_(bytes) {}

  std::span<std::byte> read(std::span<std::byte> block) override {
    const size_t count = std::min(block.size(), left_.size());
    if (count > 0) std::memcpy(block.data(), left_.data(), count);
    left_ = left_.subspan(count);
    return block.first(count);
  }

 private:
  std::span<const uint8_t> left_;
};

segue::FileText read(std::span<const uint8_t> bytes, bool as_is) {
  return segue::read_text(std::make_unique<Bytes>(bytes), "fuzz", {.as_is = as_is});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span bytes(data, size);
  segue::demand(read(bytes, true).text == std::string(bytes.begin(), bytes.end()));
  try {
    const segue::FileText file = read(bytes, false);
    segue::demand(std::ssize(file.text) <= segue::kLargestText);
    for (const segue::TextUse use : {segue::TextUse::kTraining, segue::TextUse::kReading})
      for (const std::string& line : file.signs.warnings(segue::TokenizerKind::kByte, use))
        segue::demand_one_line(line);
  } catch (const segue::DataError& error) {
    segue::demand_message(error.what());
  }
  return 0;
}
