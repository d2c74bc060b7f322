// The reader of training and evaluation: a split as contiguous streams, handed out segment by segment.
//
// Of a split's N tokens the first floor(N/B) * B are used. Stream b of the B streams is the contiguous block
// [b * R, (b+1) * R) with R = floor(N/B). The segment at row i holds rows [i, i + len) of every stream and, as targets,
// the rows one later; len = min(T, R - 1 - i), so the last segment of an epoch may be short. A reader serves a
// contiguous range of the B streams: all of them in one process, one range per rank in many.
//
// A split of E examples of L tokens each is cut likewise into streams of floor(E/B) examples, and every example into
// segments of its own: the first of its L - 1 rows begins a text, of which nothing came before.
//
// Where documents are told apart, a row belongs to the document of its target: the first row of a document reads the
// last token of the boundary before it, and a stream begins within a document whose earlier rows it does not have.
//
// For a masked model, a row reads its own target, masked or not: what it foretells is that token itself, from those on
// both sides of it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/buffer.h"
#include "data_pipeline/document_boundaries.h"
#include "data_pipeline/masked_tokens.h"
#include "data_pipeline/token_source.h"
#include "data_pipeline/token_window.h"

namespace segue {

struct StreamOptions {
  int64_t streams = 1;       // B, of all ranks together
  int64_t first_stream = 0;  // the range of them that this reader serves
  int64_t local_streams = 1;
  int64_t segment_length = 1;          // T
  bool repeat = true;                  // false: one epoch, then the end
  int64_t read_ahead = 4;              // segments prepared in advance
  std::vector<int32_t> boundary = {};  // tokens between two documents; none: they are not told apart
  int64_t farthest = 0;                // rows before a segment that its reach must tell apart
  std::optional<Masking> masking = {};
};

// All that a checkpoint keeps of a reader. `row` counts in every stream alike, so it holds for any range of streams.
struct StreamPosition {
  int64_t epoch = 0;
  int64_t row = 0;
  bool operator==(const StreamPosition&) const = default;
};

struct Segment {
  ConstTensorView tokens;   // [local_streams, length] int32
  ConstTensorView targets;  // [local_streams, length] int32; -1 (kUnscoredTarget) where there is nothing to predict
  ConstTensorView bytes;    // [local_streams, length] int32: of text of each target; none where not known
  // [local_streams, length] int32: rows of its document before each row, or as many as lie at least `farthest` before
  // the segment; none where documents are not told apart.
  ConstTensorView reach;
  // [local_streams, length] int32: rows of its document after each row in the segment; none unless tokens are masked
  // and documents told apart.
  ConstTensorView ahead;
  int64_t length = 0;
  int64_t epoch = 0;
  int64_t index = 0;         // in the epoch: row / segment_length
  bool starts_text = false;  // another epoch or example: what was remembered of the streams does not precede
};

// Throws DataError naming `name` for a split that cannot be cut into so many streams.
void check_streams(const SplitInfo& split, int64_t streams, const std::string& name);

// A thread reads ahead; next() takes what it has read. Nothing is allocated after construction.
class SegmentStreams {
 public:
  // DataError when the split is too short for `streams` streams of two tokens or of an example, its examples are not of
  // one length, or `start` lies outside of it.
  SegmentStreams(TokenSource source, const StreamOptions& options, StreamPosition start = {});
  ~SegmentStreams();
  SegmentStreams(const SegmentStreams&) = delete;
  SegmentStreams& operator=(const SegmentStreams&) = delete;

  // The next segment, valid until the next call or restore(); null at the end of a reader that does not repeat.
  // Errors of reading, DataError as a rule, are thrown here.
  const Segment* next();

  // The position of the segment that next() hands out next.
  StreamPosition position() const { return position_; }
  // Resumes at a position, as if it had been reached by next().
  void restore(StreamPosition position);
  // The next segment is this long, and those after it; at most as long as at construction.
  void set_segment_length(int64_t length);

  int64_t targets_per_text() const { return text_rows_ - 1; }
  int64_t targets_per_stream() const { return rows_ / text_rows_ * (text_rows_ - 1); }  // in an epoch
  int64_t segments_per_epoch() const;
  // Whether only some of the targets are to be predicted.
  bool scores_some() const { return source_.has_marks() || options_.masking.has_value(); }

 private:
  struct Slot {
    OwnedTensor tokens;
    OwnedTensor targets;
    OwnedTensor bytes;
    OwnedTensor reach, ahead;
    Segment segment;
  };
  // Between two rows of a stream.
  struct DocumentPlace {
    size_t matched = 0;  // of a boundary
    int64_t rows = 0;    // of the document so far
  };
  void check_position(StreamPosition position) const;
  bool is_end(StreamPosition position) const { return !options_.repeat && position.epoch > 0; }
  int64_t length_at(StreamPosition position) const;
  StreamPosition after(StreamPosition position) const;
  void start();
  void read_ahead(const std::stop_token& stop, StreamPosition position);
  Slot* wait_for_free_slot(const std::stop_token& stop);
  void fill(Slot& slot, StreamPosition position);
  void find_places(StreamPosition position);
  int32_t reach_of_next(DocumentPlace& place, int32_t token) const;
  int64_t first_offset(size_t stream) const { return (options_.first_stream + static_cast<int64_t>(stream)) * rows_; }

  TokenSource source_;
  StreamOptions options_;
  int64_t longest_;    // segment
  int64_t text_rows_;  // of an example, or of the stream
  int64_t rows_;       // of a stream: whole texts
  StreamPosition position_;
  std::optional<BoundarySearch> documents_;
  std::vector<TokenWindow> windows_;   // one per local stream; the thread's alone
  std::vector<DocumentPlace> places_;  // likewise, where documents are told apart
  std::vector<Slot> slots_;            // a ring, one longer than read_ahead: the caller holds one

  std::mutex mutex_;
  std::condition_variable_any changed_;
  int64_t filled_ = 0;  // segments read since start()
  int64_t taken_ = 0;   // segments handed out since start()
  bool ended_ = false;
  std::exception_ptr error_;
  std::jthread thread_;  // last: stopped and joined before the rest goes
};

}  // namespace segue
