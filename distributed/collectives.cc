// The dtypes that can be summed, and the collectives of a rank that is alone, which copy.
#include "distributed/collectives.h"

#include <algorithm>

#include "base/cuda.h"
#include "base/error.h"

namespace segue {

namespace {

class CollectivesOfOneRank final : public Collectives {
 public:
  explicit CollectivesOfOneRank(Device device) : Collectives(0, 1), device_(device) {}
  const char* name() const override { return "one rank"; }
  void all_reduce(TensorView values) override { check_summable(values.dtype); }
  void reduce_scatter(ConstTensorView values, TensorView my_part) override {
    check_summable(values.dtype);
    copy(values, my_part);
  }
  void all_gather(ConstTensorView my_part, TensorView values) override { copy(my_part, values); }

 private:
  void copy(ConstTensorView from, TensorView to) const {
    if (from.data == to.data) return;
    if (device_.is_cuda()) {
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

std::unique_ptr<Collectives> collectives_of_one_rank(Device device) {
  return std::make_unique<CollectivesOfOneRank>(device);
}

}  // namespace segue
