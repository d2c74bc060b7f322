// Shares, the rank that is alone, and the choice between it and MPI.
#include "distributed/communicator.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/cuda.h"
#include "base/error.h"
#include "distributed/mpi_communicator.h"

namespace segue {

namespace {

class OneRank : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  int local_rank() const override { return 0; }
  const char* name() const override { return "one rank"; }
  std::string host() const override { return host_name(); }
  void all_reduce(TensorView values) override { check_summable(values.dtype); }
  void reduce_scatter(ConstTensorView values, TensorView my_part) override {
    check_summable(values.dtype);
    copy(values, my_part);
  }
  void all_gather(ConstTensorView my_part, TensorView values) override { copy(my_part, values); }
  void barrier() override {}
  void allow_long_work(bool) override {}
  void sum(std::span<double>) override {}
  std::vector<std::string> gather(std::string_view mine) override { return {std::string(mine)}; }
  void use_device(Device device) override { device_ = device; }
  void at_step(int64_t) override {}
  void abort(int) noexcept override {}

 private:
  void copy(ConstTensorView from, TensorView to) const {
    if (from.data == to.data) return;
    if (device_.kind == DeviceKind::kCuda) {
      cuda::copy(to.data, from.data, from.bytes());
    } else {
      std::copy_n(from.data, from.bytes(), to.data);
    }
  }
  Device device_;
};

}  // namespace

void check_summable(DType dtype) {
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64 && dtype != DType::kInt64)
    throw ContractError("ranks sum float32, float64 and int64, not {}", name_of(dtype));
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "an unknown host";
}

Share share_of(int64_t total, int ranks, int rank) {
  const int64_t least = total / ranks;
  const int64_t larger = total % ranks;
  return {.first = rank * least + std::min<int64_t>(rank, larger), .count = least + (rank < larger ? 1 : 0)};
}

void Communicator::give_up(std::string_view what) { throw PeerError("{}: not done in time", what); }

std::unique_ptr<Communicator> open_communicator(const CommunicatorOptions& options) {
  if (launched_by_mpi()) return open_mpi_communicator(options);
  return std::make_unique<OneRank>();
}

}  // namespace segue
