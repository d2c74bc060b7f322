#include "data_pipeline/hdf5/row.h"

#include <algorithm>

namespace segue {

namespace {

// The elements of the row alone, where a chunk has others beside each of them: the first of every `stride`.
std::vector<std::byte> thinned(std::vector<std::byte> bytes, uint64_t count, uint64_t stride, uint64_t element_bytes) {
  for (uint64_t i = 1; i < count && stride > 1; ++i)
    std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(i * stride * element_bytes), element_bytes,
                bytes.begin() + static_cast<ptrdiff_t>(i * element_bytes));
  bytes.resize(count * element_bytes);
  return bytes;
}

Hdf5Type read_type(const Hdf5Object& dataset) {
  const Hdf5Message& message = dataset.need(Hdf5Kind::kType, "type");
  const Hdf5Type type = parse_hdf5_type({dataset.file(), message.body, dataset.name()});
  if (type.kind != Hdf5Type::Kind::kWhole && type.kind != Hdf5Type::Kind::kFloat)
    dataset.file().fail("{}: expected whole or floating-point numbers, found another type", dataset.name());
  return type;
}

}  // namespace

Hdf5Extent read_hdf5_extent(const Hdf5Object& dataset) {
  const Hdf5Message& message = dataset.need(Hdf5Kind::kExtent, "extent");
  Hdf5Extent extent;
  extent.extents = parse_hdf5_extents({dataset.file(), message.body, dataset.name()}, &extent.most);
  const auto is_long = [](uint64_t length) { return length != 1; };
  const auto axis = std::ranges::find_if(extent.extents, is_long);
  if (extent.extents.empty() || std::ranges::count_if(extent.extents, is_long) > 1)
    dataset.file().fail("{}: expected a one-dimensional dataset, found rank {}", dataset.name(), extent.extents.size());
  if (axis != extent.extents.end()) extent.axis = static_cast<size_t>(axis - extent.extents.begin());
  return extent;
}

Hdf5Row::Hdf5Row(const Hdf5Bytes& file, const Hdf5Object& dataset)
    : file_(&file),
      name_(dataset.name()),
      type_(read_type(dataset)),
      extent_(read_hdf5_extent(dataset)),
      layout_(read_hdf5_layout(dataset, extent_, type_.bytes)),
      filters_(read_hdf5_filters(dataset)) {
  if (layout_.kind == Hdf5Layout::Kind::kChunked) {
    chunks_ = read_hdf5_chunks(dataset, layout_, extent_, type_.bytes, !filters_.empty());
    return;
  }
  const uint64_t there = layout_.kind == Hdf5Layout::Kind::kCompact ? layout_.values.size() : layout_.bytes;
  const uint64_t begin = layout_.kind == Hdf5Layout::Kind::kCompact ? 0 : layout_.address;
  if (elements() > 0 && (elements() > there / type_.bytes || begin > file.size() || there > file.size() - begin))
    file.fail("{}: {} elements of {} bytes, expected as many as the {} bytes there are", name_, elements(), type_.bytes,
              std::min(there, file.size()));
}

void Hdf5Row::read(uint64_t offset, std::span<std::byte> bytes) {
  const uint64_t count = bytes.size() / type_.bytes;
  if (offset > elements() || count > elements() - offset)
    throw ContractError("{}: {} elements at {} of {}", name_, count, offset, elements());
  const uint64_t begin = offset * type_.bytes;
  if (layout_.kind == Hdf5Layout::Kind::kContiguous) {
    if (!bytes.empty()) file_->read(layout_.address + begin, bytes, name_);
  } else if (layout_.kind == Hdf5Layout::Kind::kCompact) {
    std::ranges::copy(std::span(layout_.values).subspan(begin, bytes.size()), bytes.begin());
  } else {
    read_chunked(begin, bytes);
  }
}

void Hdf5Row::read_chunked(uint64_t begin, std::span<std::byte> bytes) {
  const uint64_t row_bytes = layout_.chunk[extent_.axis] * type_.bytes;
  while (!bytes.empty()) {
    const uint64_t within = begin % row_bytes;
    const std::span<std::byte> part = bytes.first(std::min(row_bytes - within, bytes.size()));
    std::ranges::copy(std::span(chunk(begin / row_bytes)).subspan(within, part.size()), part.begin());
    begin += part.size();
    bytes = bytes.subspan(part.size());
  }
}

const std::vector<std::byte>& Hdf5Row::chunk(uint64_t index) {
  if (held_ != index) {
    held_ = kHdf5Nowhere;  // so that a failed read leaves nothing behind
    const uint64_t along = layout_.chunk[extent_.axis];
    uint64_t stride = 1;
    for (size_t dimension = extent_.axis + 1; dimension < layout_.chunk.size(); ++dimension)
      stride *= layout_.chunk[dimension];
    const uint64_t first = index * along;
    const uint64_t last = std::min(first + along, elements()) - 1;
    held_bytes_ =
        thinned(unpack_hdf5_chunk(*file_, chunks_[index], filters_, type_.bytes, layout_.chunk_elements() * type_.bytes,
                                  fmt::format("{}: elements {} to {}", name_, first, last)),
                along, stride, type_.bytes);
    held_ = index;
  }
  return held_bytes_;
}

}  // namespace segue
