// A row from its three layouts.
#include "data_pipeline/hdf5/row.h"

#include <algorithm>

namespace segue {

namespace {

uint64_t read_elements(const Hdf5Object& dataset) {
  const Hdf5Message& message = dataset.need(Hdf5Kind::kExtent, "extent");
  const std::vector<uint64_t> extents = parse_hdf5_extents({dataset.file(), message.body, dataset.name()});
  if (extents.size() != 1)
    dataset.file().fail("{}: expected a one-dimensional dataset, found rank {}", dataset.name(), extents.size());
  return extents[0];
}

Hdf5Type read_type(const Hdf5Object& dataset) {
  const Hdf5Message& message = dataset.need(Hdf5Kind::kType, "type");
  const Hdf5Type type = parse_hdf5_type({dataset.file(), message.body, dataset.name()});
  if (type.kind != Hdf5Type::Kind::kWhole && type.kind != Hdf5Type::Kind::kFloat)
    dataset.file().fail("{}: expected whole or floating-point numbers, found another type", dataset.name());
  return type;
}

}  // namespace

Hdf5Row::Hdf5Row(const Hdf5Bytes& file, const Hdf5Object& dataset)
    : file_(&file),
      name_(dataset.name()),
      type_(read_type(dataset)),
      elements_(read_elements(dataset)),
      layout_(read_hdf5_layout(dataset, type_.bytes)),
      filters_(read_hdf5_filters(dataset)) {
  if (layout_.kind == Hdf5Layout::Kind::kChunked) {
    chunks_ = read_hdf5_chunks(dataset, layout_, elements_, type_.bytes, !filters_.empty());
    return;
  }
  const uint64_t there = layout_.kind == Hdf5Layout::Kind::kCompact ? layout_.values.size() : layout_.bytes;
  const uint64_t begin = layout_.kind == Hdf5Layout::Kind::kCompact ? 0 : layout_.address;
  if (elements_ > 0 && (elements_ > there / type_.bytes || begin > file.size() || there > file.size() - begin))
    file.fail("{}: {} elements of {} bytes, expected as many as the {} bytes there are", name_, elements_, type_.bytes,
              std::min(there, file.size()));
}

void Hdf5Row::read(uint64_t offset, std::span<std::byte> bytes) {
  const uint64_t count = bytes.size() / type_.bytes;
  if (offset > elements_ || count > elements_ - offset)
    throw ContractError("{}: {} elements at {} of {}", name_, count, offset, elements_);
  uint64_t begin = offset * type_.bytes;
  if (layout_.kind == Hdf5Layout::Kind::kContiguous) {
    if (!bytes.empty()) file_->read(layout_.address + begin, bytes, name_);
  } else if (layout_.kind == Hdf5Layout::Kind::kCompact) {
    std::ranges::copy(std::span(layout_.values).subspan(begin, bytes.size()), bytes.begin());
  } else {
    const uint64_t chunk_bytes = layout_.chunk_elements * type_.bytes;
    while (!bytes.empty()) {
      const uint64_t within = begin % chunk_bytes;
      const std::span<std::byte> part = bytes.first(std::min(chunk_bytes - within, bytes.size()));
      std::ranges::copy(std::span(chunk(begin / chunk_bytes)).subspan(within, part.size()), part.begin());
      begin += part.size();
      bytes = bytes.subspan(part.size());
    }
  }
}

const std::vector<std::byte>& Hdf5Row::chunk(uint64_t index) {
  if (held_ != index) {
    held_ = kHdf5Nowhere;  // so that a failed read leaves nothing behind
    const uint64_t first = index * layout_.chunk_elements;
    const uint64_t last = std::min(first + layout_.chunk_elements, elements_) - 1;
    held_bytes_ = unpack_hdf5_chunk(*file_, chunks_[index], filters_, type_.bytes, layout_.chunk_elements * type_.bytes,
                                    fmt::format("{}: elements {} to {}", name_, first, last));
    held_ = index;
  }
  return held_bytes_;
}

}  // namespace segue
