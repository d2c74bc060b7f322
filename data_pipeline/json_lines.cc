#include "data_pipeline/json_lines.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json_text.h"
#include "base/text.h"
#include "data_pipeline/json_field.h"
#include "data_pipeline/token_files/token_stream.h"

namespace segue {
namespace {

constexpr size_t kLinesBlockBytes = size_t{1} << 18;
constexpr int64_t kLongestLine = int64_t{64} << 20;
constexpr std::string_view kBlank = " \t\r";
constexpr size_t kFieldsToldOfLine = 8;

class JsonLineStream : public ByteStream {
 public:
  JsonLineStream(std::unique_ptr<ByteStream> lines, JsonLineOptions options, std::string name)
      : lines_(std::move(lines)), options_(std::move(options)), name_(std::move(name)), block_(kLinesBlockBytes) {}

  std::span<std::byte> read(std::span<std::byte> block) override {
    size_t done = 0;
    while (done < block.size() && (given_ < text_.size() || next_document())) {
      const size_t part = std::min(block.size() - done, text_.size() - given_);
      std::memcpy(block.data() + done, text_.data() + given_, part);
      done += part;
      given_ += part;
      if (given_ == text_.size() && options_.listener.ended) options_.listener.ended(done);
    }
    return block.first(done);
  }

 private:
  // Into text_; false at the end.
  bool next_document() {
    text_.clear();
    given_ = 0;
    while (text_.empty())
      if (!next_line()) return false;
    return true;
  }

  bool next_line() {
    size_t feed = block_text_.find('\n');
    while (feed == std::string_view::npos && !ended_) {
      line_ += block_text_;
      read_block();
      feed = block_text_.find('\n');
    }
    line_ += block_text_.substr(0, feed);
    if (ended_ && line_.empty() && block_text_.empty()) {
      if (2 * counts_.skipped > counts_.lines) refuse_missing();
      return false;
    }
    block_text_.remove_prefix(feed == std::string_view::npos ? block_text_.size() : feed + 1);
    ++number_;
    take_line();
    line_.clear();
    return true;
  }

  void read_block() {
    const std::span<std::byte> bytes = lines_->read(block_);
    block_text_ = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    ended_ = bytes.empty();
    if (std::ssize(line_) > kLongestLine)
      throw DataError("{}: line {}: expected at most {} of JSON, found a longer line", name_, number_ + 1,
                      human_bytes(kLongestLine));
  }

  void take_line() {
    const size_t begin = line_.find_first_not_of(kBlank);
    if (begin == std::string::npos) return;
    const std::string place = fmt::format("{}: line {}", name_, number_);
    refuse_other_layouts(std::string_view(line_).substr(begin), place);
    Json document =
        parse_json<DataError>(line_, place, {.max_bytes = kLongestLine + std::ssize(block_), .is_line = true});
    if (!document.is_object()) throw DataError("{}: expected an object, found {}", place, describe_json(document));
    const Json* field = find_field(document, options_.field);
    count_line(document, field == nullptr || field->is_null());
    if (field == nullptr || field->is_null()) return;
    if (!(options_.ids ? field->is_array() : field->is_string()))
      throw DataError("{}: expected {}, found {}", place, wanted(), describe_json(*field));
    if (options_.ids) {
      add_ids(*field, place);
    } else {
      add(field->get_ref<const std::string&>());
    }
  }

  // `a text "body"`.
  std::string wanted() const {
    return fmt::format("{} {}", options_.ids ? "a list" : "a text", describe_json(Json(options_.field)));
  }

  void count_line(const Json& document, bool is_skipped) {
    ++counts_.lines;
    if (is_skipped && counts_.skipped++ == 0) {
      first_skipped_ = number_;
      fields_of_first_ = usable_fields(document, kFieldsToldOfLine);
    }
    if (options_.counts != nullptr) *options_.counts = counts_;
    if (counts_.skipped == kLinesWithoutField && counts_.lines == kLinesWithoutField) refuse_missing();
  }

  [[noreturn]] void refuse_missing() const {
    std::string found;
    for (const std::string& field : fields_of_first_)
      found += fmt::format("{}{}", found.empty() ? "" : ", ", describe_json(Json(field)));
    throw DataError("{}: expected {} in at least half of the lines, found it in {} of {}; line {} has {}{}", name_,
                    wanted(), human_count(counts_.lines - counts_.skipped), human_count(counts_.lines), first_skipped_,
                    found.empty() ? "neither text nor lists" : found,
                    did_you_mean(nearest_word(options_.field, {fields_of_first_.begin(), fields_of_first_.end()})));
  }

  // Of one document over several lines only the first could be named, for an end that it does not have.
  static void refuse_other_layouts(std::string_view line, const std::string& place) {
    if (line.front() == '[')
      throw DataError("{}: expected an object, found a list; jq -c '.[]' makes such lines of one", place);
    if (line.find_last_not_of(kBlank) == 0 && line.front() == '{')
      throw DataError("{}: expected a whole object, found the first line of one; jq -c . makes such lines", place);
  }

  void add(const std::string& text) {
    if (text.empty()) return;
    if (options_.listener.seen) options_.listener.seen(text);
    if (options_.text_separator && std::exchange(begun_, true)) text_ += *options_.text_separator;
    text_ += text;
    if (!options_.text_separator && text.back() != '\n') text_ += '\n';
  }

  void add_ids(const Json& list, const std::string& place) {
    if (list.empty()) return;
    if (options_.token_separator && std::exchange(begun_, true)) put(static_cast<uint64_t>(*options_.token_separator));
    const auto limit = static_cast<uint64_t>(options_.ids->limit);
    for (size_t i = 0; i < list.size(); ++i) {
      const Json& value = list[i];
      if (!value.is_number_unsigned() || value.get<uint64_t>() >= limit)
        refuse_token(place, join_json_path({}, options_.field) + index_in_path(static_cast<int64_t>(i)),
                     describe_json(value), options_.ids->limit);
      put(value.get<uint64_t>());
    }
  }

  void put(uint64_t token) {
    text_.append(reinterpret_cast<const char*>(&token), static_cast<size_t>(bytes_of(options_.ids->type)));
  }

  std::unique_ptr<ByteStream> lines_;
  JsonLineOptions options_;
  std::string name_;
  std::vector<std::byte> block_;
  std::string_view block_text_;  // of block_, not yet cut into lines
  std::string line_;
  int64_t number_ = 0;  // of the last line
  JsonLineCounts counts_;
  int64_t first_skipped_ = 0;                 // number of that line
  std::vector<std::string> fields_of_first_;  // those that it has
  bool ended_ = false;
  std::string text_;  // of the last document
  size_t given_ = 0;  // of it
  bool begun_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> make_json_line_stream(std::unique_ptr<ByteStream> lines, const JsonLineOptions& options,
                                                  const std::string& name) {
  return std::make_unique<JsonLineStream>(std::move(lines), options, name);
}

}  // namespace segue
