// A stream through the oracle segment by segment, with the memory it hands on; and the same stream in one dense pass.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "core/attention/visibility.h"
#include "core/config/carried.h"
#include "core/config/layers.h"
#include "core/config/memory_kind.h"
#include "core/config/visibility_kind.h"
#include "tests/oracle/compression.h"
#include "tests/oracle/kinds_of_memory.h"
#include "tests/oracle/segment_memory.h"
#include "tests/oracle/transformer_xl.h"

namespace segue::oracle {

// Inputs and the tokens that follow them, of one stream.
struct StreamTokens {
  std::vector<int32_t> tokens, targets;

  int64_t length() const { return static_cast<int64_t>(tokens.size()); }
  StreamTokens part(int64_t begin, int64_t count) const {
    const int64_t end = std::min(begin + count, length());
    return {{tokens.begin() + begin, tokens.begin() + end}, {targets.begin() + begin, targets.begin() + end}};
  }
};

// Whole units before a position, which may lie before the first one; and what is left of it.
inline int64_t whole(int64_t position, int64_t unit) {
  return position >= 0 ? position / unit : -((unit - 1 - position) / unit);
}
inline int64_t rest(int64_t position, int64_t unit) { return position - whole(position, unit) * unit; }

// Of a query and a key, which may lie ahead. Which blocks a random one draws is taken from the program.
inline bool names(const PatternConfig& pattern, const DrawnFor& whom, int64_t query, int64_t key) {
  const std::vector<int64_t>& heads = pattern.heads;
  if (!heads.empty() && std::count(heads.begin(), heads.end(), whom.head) == 0) return false;
  const int64_t distance = query - key;
  const int64_t blocks_back = whole(query, pattern.block) - whole(key, pattern.block);
  switch (pattern.kind) {
    case PatternKind::kWindow:
      return std::abs(distance) < pattern.window;
    case PatternKind::kDilated:
      return distance % pattern.stride == 0 && std::abs(distance) / pattern.stride < pattern.window;
    case PatternKind::kStrided:
      return distance % pattern.stride == 0;
    case PatternKind::kBlocks:
      return key >= whole(query, pattern.block) * pattern.block - pattern.before &&
             key < (whole(query, pattern.block) + 1) * pattern.block + pattern.before;
    case PatternKind::kBlockwise:
      return blocks_back == pattern.shift;
    case PatternKind::kFixed: {
      const int64_t column = rest(key, pattern.period);
      return column >= pattern.first_column() && column < pattern.first_column() + pattern.columns;
    }
    case PatternKind::kGlobal:
      return rest(key, pattern.period) < pattern.columns || rest(query, pattern.period) < pattern.columns;
    case PatternKind::kRandom: {
      const std::vector<int64_t> drawn = drawn_blocks(pattern, whom, rest(query, pattern.period) / pattern.block);
      return std::count(drawn.begin(), drawn.end(), blocks_back) > 0;
    }
  }
  return false;
}

// Causal, or of those that look ahead all of the segment; of a window only its newest keys, with same_length the newest
// `mem_len`, or one more, of patterns the query's own and what one of them names. Periods are counted from the
// segment's first token.
inline Visibility segment_mask(const VisibilityConfig& visibility, int64_t mem_len, int64_t layer = 0,
                               bool ahead = false) {
  return [visibility, mem_len, layer, ahead](int64_t head, int64_t query, int64_t key) {
    if (key > query && !ahead) return false;
    if (visibility.kind == VisibilityKind::kSparse) {
      bool is_named = key == query;
      for (size_t i = 0; i < visibility.patterns.size(); ++i) {
        const DrawnFor whom{.layer = layer, .pattern = static_cast<int64_t>(i), .head = head};
        is_named = is_named || names(visibility.patterns[i], whom, query, key);
      }
      return is_named;
    }
    if (visibility.kind == VisibilityKind::kWindow) return key > query - visibility.window;
    if (!visibility.same_length) return true;
    return visibility.same_length_extra_key ? key >= query - mem_len : key > query - mem_len;
  };
}

// With so many rows of a global stream before the segment's own, which see all and which all see.
inline Visibility with_global_stream(Visibility own, int64_t rows) {
  return [own = std::move(own), rows](int64_t head, int64_t query, int64_t key) {
    if (query < rows || (key >= 0 && key < rows)) return true;
    return own(head, query - rows, key < 0 ? key : key - rows);
  };
}

// That of every layer.
inline std::vector<Visibility> segment_masks(const ModelConfig& model) {
  std::vector<Visibility> masks;
  for (const ModelConfig& layer : layers_of(model))
    masks.push_back(with_global_stream(
        segment_mask(layer.visibility, model.mem_len, static_cast<int64_t>(masks.size()), model.objective.is_masked()),
        model.global_stream.tokens));
  return masks;
}

// The pairs that in every layer segments of `tgt_len` tokens with a memory of `mem_len` let through: token t sees s
// with floor(t / T) * T - M <= s <= t, or up to the end of its segment. Rows of an initial memory stand before token 0.
inline std::vector<Visibility> dense_masks(const ModelConfig& model, int64_t tgt_len) {
  std::vector<Visibility> masks = segment_masks(model);
  for (Visibility& mask : masks) {
    mask = [in_segment = mask, mem_len = model.mem_len, tgt_len](int64_t head, int64_t query, int64_t key) {
      const int64_t begin = query / tgt_len * tgt_len;
      return begin - mem_len <= key && key < begin + tgt_len && in_segment(head, query, key);
    };
  }
  return masks;
}

inline Memory initial_memory(const ModelConfig& model) {
  const bool is_full = model.memory.initial == InitialMemory::kZeros;
  const bool compresses = model.memory.kind == MemoryKind::kCompressed;
  const int64_t compressed = compresses && is_full ? model.memory.compressed_len : 0;
  const int64_t rows = is_full ? model.mem_len + compressed : 0;
  if (encoder_layers(model) > 0) return Memory(1);
  Memory memory(model.n_layer, std::vector<double>(rows * memory_width(model)));
  for (int64_t layer = 0; layer < model.n_layer; ++layer) {
    if (keeps_state(model, layer)) memory[layer].clear();
    for (const CarriedTensor& carried : carried_tensors(model, layer)) {
      if (carried.change != CarriedChange::kWithTokens) continue;  // of all layers together
      memory[layer].resize(memory[layer].size() + carried.shape.elements());
    }
  }
  if (compresses) memory.emplace_back(compressed);
  if (hands_on_more_than_rows(model)) memory.emplace_back();
  return memory;
}

// The newest `mem_len` rows of memory and segment, and what it wrote beside them. Of a memory that compresses see
// below.
inline void update_memory(const ModelConfig& model, const TransformerXl<double>::Segment& segment, Memory& memory) {
  for (size_t layer = 0; layer < segment.fresh.size(); ++layer) {
    const std::vector<double>& fresh = segment.fresh[layer];
    if (keeps_state(model, static_cast<int64_t>(layer))) {
      memory[layer] = fresh;
      continue;
    }
    const auto joined = static_cast<int64_t>(memory[layer].size() + fresh.size());
    memory[layer] = updated_memory(memory[layer], fresh, 1, std::min(joined, model.mem_len * memory_width(model)));
  }
  if (hands_on_more_than_rows(model)) memory.back() = segment.written;
}

// The memory of a model of any kind after a segment.
inline void update_memory(const ModelConfig& model, const TransformerXl<double>& oracle,
                          const TransformerXl<double>::Segment& segment, Memory& memory) {
  if (model.memory.kind != MemoryKind::kCompressed) return update_memory(model, segment, memory);
  const auto compressed = static_cast<int64_t>(memory.back().size());
  for (int64_t layer = 0; layer < model.n_layer; ++layer) {
    const CompressedUpdate updated =
        compressed_update(model, layer, oracle.weights(), memory[layer], compressed, segment.fresh[layer],
                          segment.received.empty() ? std::vector<double>() : segment.received[layer]);
    memory[layer] = updated.memory;
    memory.back().resize(updated.compressed);
  }
}

// The loss that the compression of a stream's memory learns from in a segment, of all layers; 0 of other kinds.
template <typename Scalar>
Scalar reconstruction_loss(const ModelConfig& model, const TransformerXl<Scalar>& oracle,
                           const typename TransformerXl<Scalar>::Segment& segment, const Memory& memory) {
  Scalar loss = 0.0;
  if (!learns_compression(model)) return loss;
  const auto real = [](const std::vector<Scalar>& values) {
    std::vector<double> parts;
    for (const Scalar& value : values) parts.push_back(std::real(value));
    return parts;
  };
  std::map<std::string, std::vector<double>> constants;
  for (const auto& [name, values] : oracle.weights()) constants[name] = real(values);
  for (int64_t layer = 0; layer < model.n_layer; ++layer) {
    const std::vector<double> inputs = real(segment.fresh[layer]);
    const auto compressed = static_cast<int64_t>(memory.back().size());
    const std::vector<double> rows =
        compressed_update(model, layer, constants, memory[layer], compressed, inputs, {}).pushed_out;
    if (rows.empty()) continue;
    const Compression<Scalar, typename TransformerXl<Scalar>::Weights> compression(model, layer, oracle.weights());
    loss += compression.loss(inputs, rows, compression.compressed(rows, {}));
  }
  return loss;
}

// Loss of every token; `memory` goes in and comes out.
inline std::vector<double> segmented_nll(const ModelConfig& model, const TransformerXl<double>& oracle,
                                         const StreamTokens& stream, int64_t tgt_len, Memory& memory) {
  std::vector<double> nll;
  for (int64_t begin = 0; begin < stream.length(); begin += tgt_len) {
    const StreamTokens part = stream.part(begin, tgt_len);
    const auto segment = oracle.segment(part.tokens, part.targets, memory, segment_masks(model));
    update_memory(model, oracle, segment, memory);
    nll.insert(nll.end(), segment.nll.begin(), segment.nll.end());
  }
  return nll;
}

inline std::vector<double> dense_nll(const ModelConfig& model, const TransformerXl<double>& oracle,
                                     const StreamTokens& stream, int64_t tgt_len) {
  return oracle.segment(stream.tokens, stream.targets, initial_memory(model), dense_masks(model, tgt_len), tgt_len).nll;
}

}  // namespace segue::oracle
