// Staging, and the choice between the ring and the tree. Each collective is started, then asked for until it is done.
#include "distributed/mpi_collectives.h"

#include <algorithm>
#include <utility>

#include "base/cuda.h"

namespace segue {

namespace {

constexpr int64_t kLeastPartBytes = 1024;  // of a rank in a sum that is worth the ring's 2 (n - 1) trips

MPI_Datatype type_of(DType dtype) {
  check_summable(dtype);
  if (dtype == DType::kInt64) return MPI_INT64_T;
  return dtype == DType::kFloat32 ? MPI_FLOAT : MPI_DOUBLE;
}

TensorView writable(ConstTensorView view) {  // MPI and staging only read it
  return {const_cast<std::byte*>(view.data), view.dtype, view.shape};
}

}  // namespace

MpiCollectives::MpiCollectives(const Job& job, MPI_Comm around, Device device, mpi::Wait wait)
    : Collectives(job.rank(), job.size()), around_(around), device_(device), wait_(std::move(wait)), ring_(around) {}

void MpiCollectives::all_reduce(TensorView values) {
  const TensorView host = staged(values, first_stage_, Fill::kYes);
  if (host.bytes() < size() * kLeastPartBytes) {
    sum_over_tree(host);
  } else {
    ring_.start_all_reduce(host);
    finish_ring("all_reduce");
  }
  unstage(host, values);
}

void MpiCollectives::reduce_scatter(ConstTensorView values, TensorView my_part) {
  const ConstTensorView all = staged(writable(values), first_stage_, Fill::kYes);
  const TensorView mine = staged(my_part, second_stage_, Fill::kNo);
  ring_.start_reduce_scatter(all, mine);
  finish_ring("reduce_scatter");
  unstage(mine, my_part);
}

void MpiCollectives::all_gather(ConstTensorView my_part, TensorView values) {
  const TensorView all = staged(values, first_stage_, Fill::kNo);
  std::byte* const my_place = all.data + rank() * my_part.bytes();
  if (device_.is_cuda()) {
    cuda::copy(my_place, my_part.data, my_part.bytes());
  } else if (my_part.data != my_place) {
    std::copy_n(my_part.data, my_part.bytes(), my_place);
  }
  ring_.start_all_gather(all);
  finish_ring("all_gather");
  unstage(all, values);
}

// The values where MPI can reach them: themselves, or their copy in pinned memory.
TensorView MpiCollectives::staged(TensorView values, Buffer& stage, Fill fill) const {
  if (!device_.is_cuda()) return values;
  if (stage.bytes() < values.bytes()) stage = Buffer(values.bytes(), device_, BufferKind::kPinned);
  if (fill == Fill::kYes) cuda::copy(stage.data(), values.data, values.bytes());
  return {stage.data(), values.dtype, values.shape};
}

void MpiCollectives::unstage(ConstTensorView host, TensorView values) const {
  if (host.data != values.data) cuda::copy(values.data, host.data, values.bytes());
}

// Fewer trips than around the ring, of more bytes.
void MpiCollectives::sum_over_tree(TensorView values) {
  constexpr const char* kWhat = "all_reduce";
  MPI_Request request = MPI_REQUEST_NULL;
  mpi::check(MPI_Iallreduce(MPI_IN_PLACE, values.data, static_cast<int>(values.elements()), type_of(values.dtype),
                            MPI_SUM, around_, &request),
             kWhat);
  wait_([&] { return mpi::test(request, kWhat); }, kWhat);
}

void MpiCollectives::finish_ring(const char* what) {
  wait_([this] { return ring_.advance(); }, what);
}

}  // namespace segue
