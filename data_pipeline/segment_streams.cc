// Cutting a split into segments, and the thread that does it ahead of time.
#include "data_pipeline/segment_streams.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace segue {
namespace {

// Tokens a stream holds in memory (128 KiB): few enough for hundreds of streams, as many as a chunk of a shard.
constexpr int64_t kWindowTokens = kChunkTokens;

void check_options(const StreamOptions& options) {
  if (options.streams < 1 || options.segment_length < 1 || options.read_ahead < 1)
    throw ContractError("streams {}, segment length {} and read-ahead {} must be positive", options.streams,
                        options.segment_length, options.read_ahead);
  if (options.first_stream < 0 || options.local_streams < 1 ||
      options.local_streams > options.streams - options.first_stream)
    throw ContractError("streams {}..{} of {}", options.first_stream, options.first_stream + options.local_streams,
                        options.streams);
}

// Rows of an example, or of a whole stream where the split is one text.
int64_t rows_of_text(const TokenSource& source, const StreamOptions& options) {
  check_options(options);
  check_streams(source.info(), options.streams, source.name());
  return source.info().examples ? source.info().examples->front().tokens : source.tokens() / options.streams;
}

}  // namespace

void check_streams(const SplitInfo& split, int64_t streams, const std::string& name) {
  if (!split.examples) {
    if (split.tokens / streams < 2)
      throw DataError(
          "{}: expected at least {} tokens for {} {} of 2, found {}; lower the batch size, or prepare more text", name,
          2 * streams, streams, plural(streams, "stream"), split.tokens);
    return;
  }
  int64_t examples = 0;
  for (const ExampleRun& run : *split.examples) {
    examples += run.count;
    if (const int64_t first = split.examples->front().tokens; run.tokens != first)
      throw DataError("{}: expected examples of one length, found some of {} tokens and some of {}", name, first,
                      run.tokens);
  }
  if (examples < streams)
    throw DataError("{}: expected at least {} examples for as many streams, found {}", name, streams, examples);
}

SegmentStreams::SegmentStreams(TokenSource source, const StreamOptions& options, StreamPosition start)
    : source_(std::move(source)),
      options_(options),
      longest_(options.segment_length),
      text_rows_(rows_of_text(source_, options)),
      rows_(source_.tokens() / text_rows_ / options.streams * text_rows_),
      position_(start) {
  if (!options_.boundary.empty()) documents_.emplace(options_.boundary);
  if (options_.masking && source_.has_marks())
    throw ContractError("{}: tokens to be masked of a split that marks those to be predicted", source_.name());
  if (documents_ && source_.info().examples)
    throw ContractError("{}: a document boundary of examples, which are documents each", source_.name());
  check_position(start);
  const int64_t longest = std::min(longest_, text_rows_ - 1);
  for (size_t stream = 0; stream < static_cast<size_t>(options_.local_streams); ++stream)
    windows_.emplace_back(first_offset(stream), first_offset(stream) + rows_, std::max(kWindowTokens, longest + 1));
  const Shape shape{options_.local_streams, longest};
  const Shape of_bytes{source_.has_bytes() ? options_.local_streams : 0, longest};
  const Shape of_reach{documents_ ? options_.local_streams : 0, longest};
  const Shape of_ahead{documents_ && options_.masking ? options_.local_streams : 0, longest};
  for (int64_t i = 0; i <= options_.read_ahead; ++i)
    slots_.push_back({.tokens = OwnedTensor(DType::kInt32, shape),
                      .targets = OwnedTensor(DType::kInt32, shape),
                      .bytes = OwnedTensor(DType::kInt32, of_bytes),
                      .reach = OwnedTensor(DType::kInt32, of_reach),
                      .ahead = OwnedTensor(DType::kInt32, of_ahead),
                      .segment = {}});
  places_.resize(static_cast<size_t>(of_reach[0]));
  this->start();
}

SegmentStreams::~SegmentStreams() = default;

void SegmentStreams::check_position(StreamPosition position) const {
  if (position.epoch < 0 || position.row < 0 || position.row >= rows_ || length_at(position) == 0)
    throw DataError("{}: position in epoch {} at row {}: expected a row from 0 to {}; is it another dataset's?",
                    source_.name(), position.epoch, position.row, rows_ - 2);
}

void SegmentStreams::restore(StreamPosition position) {
  check_position(position);
  thread_ = {};
  position_ = position;
  start();
}

void SegmentStreams::set_segment_length(int64_t length) {
  if (length < 1 || length > longest_) throw ContractError("segments of {} tokens, expected 1 to {}", length, longest_);
  if (length == options_.segment_length) return;
  thread_ = {};  // what it has read ahead is too long or too short
  options_.segment_length = length;
  start();
}

int64_t SegmentStreams::segments_per_epoch() const {
  return rows_ / text_rows_ * ((text_rows_ - 2 + options_.segment_length) / options_.segment_length);
}

int64_t SegmentStreams::length_at(StreamPosition position) const {
  return std::min(options_.segment_length, text_rows_ - 1 - position.row % text_rows_);
}

// The last token of a text is a target alone.
StreamPosition SegmentStreams::after(StreamPosition position) const {
  int64_t row = position.row + length_at(position);
  if (row % text_rows_ == text_rows_ - 1) ++row;
  return row < rows_ ? StreamPosition{position.epoch, row} : StreamPosition{position.epoch + 1, 0};
}

void SegmentStreams::start() {
  filled_ = 0;
  taken_ = 0;
  ended_ = false;
  error_ = nullptr;
  thread_ = std::jthread([this, from = position_](const std::stop_token& stop) { read_ahead(stop, from); });
}

const Segment* SegmentStreams::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return filled_ > taken_ || ended_; });
  if (filled_ == taken_) {
    if (error_) std::rethrow_exception(error_);
    return nullptr;
  }
  const Slot& slot = slots_[static_cast<size_t>(taken_) % slots_.size()];
  ++taken_;
  position_ = after(position_);
  changed_.notify_all();
  return &slot.segment;
}

void SegmentStreams::read_ahead(const std::stop_token& stop, StreamPosition position) {
  std::exception_ptr error;
  try {
    find_places(position);
    for (; !is_end(position); position = after(position)) {
      Slot* slot = wait_for_free_slot(stop);
      if (slot == nullptr) return;
      fill(*slot, position);
      const std::lock_guard lock(mutex_);
      ++filled_;
      changed_.notify_all();
    }
  } catch (...) {
    error = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  ended_ = true;
  error_ = error;
  changed_.notify_all();
}

// Null when asked to stop. The slot that was handed out last still belongs to the caller of next().
SegmentStreams::Slot* SegmentStreams::wait_for_free_slot(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const bool free = changed_.wait(lock, stop, [this] { return filled_ - taken_ < options_.read_ahead; });
  return free && !stop.stop_requested() ? &slots_[static_cast<size_t>(filled_) % slots_.size()] : nullptr;
}

// The row that reads the end of a boundary is the next document's first. What lies too far back to be told apart is not
// counted, so that no number of rows is too large.
int32_t SegmentStreams::reach_of_next(DocumentPlace& place, int32_t token) const {
  if (documents_->ends_at(token, place.matched)) place.rows = 0;
  const int64_t reach = std::min(place.rows, options_.farthest + longest_);
  place.rows = reach + 1;
  return static_cast<int32_t>(reach);
}

// From as many rows before the position as can matter: a boundary that began before these leaves all of them in reach.
// One that overlaps itself is looked for from the stream's first row on.
void SegmentStreams::find_places(StreamPosition position) {
  std::ranges::fill(places_, DocumentPlace{});
  if (!documents_) return;
  const int64_t before = options_.farthest + documents_->tokens() - 1;
  const int64_t first = documents_->overlaps_itself() ? 0 : std::max<int64_t>(0, position.row - before);
  for (size_t i = 0; i < windows_.size(); ++i) {
    for (int64_t row = first; row < position.row; row += kWindowTokens) {
      const TokenRows rows = windows_[i].read(source_, row, std::min(kWindowTokens, position.row - row));
      for (const int32_t token : rows.tokens) reach_of_next(places_[i], token);
    }
  }
}

namespace {

// Of rows whose reach is this: those after each until a document's first, which reaches nothing.
void count_ahead(std::span<const int32_t> reach, int32_t* ahead) {
  int32_t rows = 0;
  for (size_t i = reach.size(); i-- > 0;) {
    ahead[i] = rows;
    rows = reach[i] == 0 ? 0 : rows + 1;
  }
}

}  // namespace

void SegmentStreams::fill(Slot& slot, StreamPosition position) {
  const int64_t length = length_at(position);
  if (position.row == 0) std::ranges::fill(places_, DocumentPlace{});
  auto* tokens = slot.tokens.as<int32_t>();
  auto* targets = slot.targets.as<int32_t>();
  auto* bytes = slot.bytes.as<int32_t>();
  auto* reach = slot.reach.as<int32_t>();
  auto* ahead = slot.ahead.as<int32_t>();
  const auto rows_of_segment = static_cast<size_t>(length);
  for (size_t stream = 0; stream < windows_.size(); ++stream) {
    const TokenRows rows = windows_[stream].read(source_, position.row, length + 1);
    for (size_t i = 0; i < rows_of_segment; ++i) {
      const int64_t offset = first_offset(stream) + position.row + static_cast<int64_t>(i) + 1;
      const MaskedToken row = options_.masking
                                  ? masked(*options_.masking, position.epoch + 1, offset, rows.tokens[i + 1])
                                  : MaskedToken{.token = rows.tokens[i], .target = rows.target(i + 1)};
      *tokens++ = row.token;
      *targets++ = row.target;
    }
    if (!rows.bytes.empty()) bytes = std::ranges::copy(rows.bytes.subspan(1), bytes).out;
    if (!documents_) continue;
    for (size_t i = 0; i < rows_of_segment; ++i) reach[i] = reach_of_next(places_[stream], rows.tokens[i]);
    if (options_.masking) {
      count_ahead({reach, rows_of_segment}, ahead);
      ahead += length;
    }
    reach += length;
  }
  const Shape shape{options_.local_streams, length};
  slot.segment = {.tokens = {slot.tokens.view().data, DType::kInt32, shape},
                  .targets = {slot.targets.view().data, DType::kInt32, shape},
                  .bytes = {slot.bytes.view().data, DType::kInt32, {slot.bytes.shape()[0], length}},
                  .reach = {slot.reach.view().data, DType::kInt32, {std::ssize(places_), length}},
                  .ahead = {slot.ahead.view().data, DType::kInt32, {slot.ahead.shape()[0], length}},
                  .length = length,
                  .epoch = position.epoch,
                  .index = position.row / options_.segment_length,
                  .starts_text = position.row % text_rows_ == 0};
}

}  // namespace segue
