// In rank r, step k of a sum sends part r - 1 - k and receives part r - 2 - k, to which it adds its own values; the
// last is its own part. Step k of a gather sends part r - k and receives part r - 1 - k.
#include "distributed/mpi_ring.h"

#include <algorithm>

#include "base/divide_up.h"
#include "distributed/collectives.h"

namespace segue {

namespace {

using mpi::check;
using mpi::Progress;

constexpr int64_t kMostBytes = int64_t{256} << 10;  // of a chunk
constexpr int64_t kFewBytes = int64_t{16} << 10;    // of a chunk that is not worth being cut for another lane

template <typename T>
void add(std::byte* sums, const std::byte* values, int64_t count) {
  T* const to = reinterpret_cast<T*>(sums);
  const T* const from = reinterpret_cast<const T*>(values);
  for (int64_t e = 0; e < count; ++e) to[e] += from[e];
}

void add(DType dtype, std::byte* sums, const std::byte* values, int64_t count) {
  if (dtype == DType::kFloat32) return add<float>(sums, values, count);
  if (dtype == DType::kFloat64) return add<double>(sums, values, count);
  add<int64_t>(sums, values, count);
}

}  // namespace

MpiRing::MpiRing(MPI_Comm ranks) : ranks_(ranks) {
  check(MPI_Comm_rank(ranks, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(ranks, &size_), "MPI_Comm_size");
  requests_.fill(MPI_REQUEST_NULL);
  if (size_ > 1) stages_ = Buffer(static_cast<int64_t>(2 * kLanes) * kMostBytes);
}

void MpiRing::start_all_reduce(TensorView values) {
  check_summable(values.dtype);
  const int64_t own = share_of(values.elements(), size_, rank_).first;
  start({.values = values.data,
         .mine = values.data + own * bytes_of(values.dtype),
         .all = values.data,
         .dtype = values.dtype,
         .elements = values.elements(),
         .first_step = 0,
         .end_step = 2 * (size_ - 1)});
}

void MpiRing::start_reduce_scatter(ConstTensorView values, TensorView my_part) {
  check_summable(values.dtype);
  if (size_ == 1) std::copy_n(values.data, values.bytes(), my_part.data);
  start({.values = values.data,
         .mine = my_part.data,
         .dtype = values.dtype,
         .elements = values.elements(),
         .first_step = 0,
         .end_step = size_ - 1});
}

void MpiRing::start_all_gather(TensorView values) {
  start({.all = values.data,
         .dtype = values.dtype,
         .elements = values.elements(),
         .first_step = size_ - 1,
         .end_step = 2 * (size_ - 1)});
}

void MpiRing::start(const Trip& trip) {
  trip_ = trip;
  const int64_t part_bytes = divide_up(trip.elements, size_) * bytes_of(trip.dtype);
  trip_.chunks = std::max(divide_up(part_bytes, kMostBytes),
                          std::clamp(part_bytes / kFewBytes, int64_t{1}, static_cast<int64_t>(kLanes)));
  for (size_t lane = 0; lane < kLanes; ++lane) {
    lanes_[lane] = {.chunk = static_cast<int64_t>(lane), .step = trip.first_step};
    post(lane);
  }
}

mpi::Progress MpiRing::advance() {
  std::array<int, 2 * kLanes> which{};
  int done = 0;
  check(MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &done, which.data(), MPI_STATUSES_IGNORE),
        "MPI_Testsome");
  if (done == MPI_UNDEFINED) return Progress::kDone;
  if (done == 0) return Progress::kNone;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    const bool is_over = lanes_[lane].chunk >= trip_.chunks;
    if (!is_over && requests_[2 * lane] == MPI_REQUEST_NULL && requests_[2 * lane + 1] == MPI_REQUEST_NULL)
      complete_step(lane);
  }
  return Progress::kSome;
}

// Sums and gathers number their steps as one after the other: the gather's first is size - 1, and sends the own part.
int MpiRing::sent_part(int step) const { return (rank_ + 2 * size_ - 1 - step) % size_; }
int MpiRing::received_part(int step) const { return (rank_ + 2 * size_ - 2 - step) % size_; }

// In elements of the values.
Share MpiRing::chunk_of(int part, int64_t chunk) const {
  const Share whole = share_of(trip_.elements, size_, part);
  const Share within = share_of(whole.count, static_cast<int>(trip_.chunks), static_cast<int>(chunk));
  return {.first = whole.first + within.first, .count = within.count};
}

std::byte* MpiRing::stage(size_t lane, int step) {
  return stages_.data() + static_cast<int64_t>(2 * lane + static_cast<size_t>(step % 2)) * kMostBytes;
}

// The source of what the lane's step sends: this rank's values, the sum so far, or a part of the result.
const std::byte* MpiRing::source(size_t lane, const Share& sent) {
  const int step = lanes_[lane].step;
  const int64_t offset = sent.first * bytes_of(trip_.dtype);
  if (!is_reducing(step)) return trip_.all + offset;
  return step == 0 ? trip_.values + offset : stage(lane, step - 1);
}

// Starts the lane's step, unless its work is over.
void MpiRing::post(size_t lane) {
  const auto [chunk, step] = lanes_[lane];
  if (chunk >= trip_.chunks || step >= trip_.end_step) return;
  const int64_t size = bytes_of(trip_.dtype);
  const Share sent = chunk_of(sent_part(step), chunk);
  const Share received = chunk_of(received_part(step), chunk);
  std::byte* to = is_reducing(step) ? stage(lane, step) : trip_.all + received.first * size;
  const int tag = static_cast<int>(lane);
  check(MPI_Irecv(to, static_cast<int>(received.count * size), MPI_BYTE, (rank_ + size_ - 1) % size_, tag, ranks_,
                  &requests_[2 * lane + 1]),
        "MPI_Irecv");
  check(MPI_Isend(source(lane, sent), static_cast<int>(sent.count * size), MPI_BYTE, (rank_ + 1) % size_, tag, ranks_,
                  &requests_[2 * lane]),
        "MPI_Isend");
}

void MpiRing::complete_step(size_t lane) {
  Lane& at = lanes_[lane];
  if (is_reducing(at.step)) add_received(lane);
  if (++at.step == trip_.end_step) at = {.chunk = at.chunk + static_cast<int64_t>(kLanes), .step = trip_.first_step};
  post(lane);
}

// Adds to what is sent on in its stage, and to what ends here in its destination.
void MpiRing::add_received(size_t lane) {
  const auto [chunk, step] = lanes_[lane];
  const int part = received_part(step);
  const int64_t size = bytes_of(trip_.dtype);
  const Share range = chunk_of(part, chunk);
  const std::byte* own = trip_.values + range.first * size;
  if (part != rank_) return add(trip_.dtype, stage(lane, step), own, range.count);
  std::byte* sums = trip_.mine + (range.first - share_of(trip_.elements, size_, rank_).first) * size;
  if (sums != own) std::copy_n(own, range.count * size, sums);
  add(trip_.dtype, sums, stage(lane, step), range.count);
}

}  // namespace segue
