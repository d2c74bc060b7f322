// Walks the blocks of kernels/cpu/linear_cross_entropy.cc.
#include "kernels/linear_cross_entropy_products.h"

#include <algorithm>

#include "kernels/cpu/linear_cross_entropy_blocks.h"

namespace segue::kernels {

namespace {

// The logits of a block of classes, and the gradient of its weights.
void add_classes(std::vector<ProductShape>& products, int64_t classes, int64_t rows, int64_t width, bool has_gradient) {
  for (int64_t first = 0; first < classes; first += cpu::kBlockClasses) {
    const int64_t count = std::min(cpu::kBlockClasses, classes - first);
    products.push_back({.m = rows, .n = count, .k = width, .transpose_b = true, .in_thread = true});
    if (has_gradient)
      products.push_back(
          {.m = count, .n = width, .k = rows, .transpose_a = true, .accumulate = true, .in_thread = true});
  }
}

void add_dx(std::vector<ProductShape>& products, int64_t rows, int64_t width, int64_t table, int64_t gates) {
  const int64_t parts = cpu::dx_parts(rows, width, table);
  const int64_t row_blocks = cpu::divide_up(rows, cpu::kBlockRows);
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t classes = cpu::share_begin(table, part + 1, parts) - cpu::share_begin(table, part, parts);
    for (int64_t block = 0; block < row_blocks; ++block) {
      const int64_t m = cpu::share_begin(rows, block + 1, row_blocks) - cpu::share_begin(rows, block, row_blocks);
      for (int64_t column = 0; column < width; column += cpu::kBlockColumns) {
        const int64_t n = std::min(cpu::kBlockColumns, width - column);
        products.push_back({.m = m, .n = n, .k = classes, .in_thread = true});
        if (part + 1 == parts && gates > 0)
          products.push_back({.m = m, .n = n, .k = gates, .accumulate = true, .in_thread = true});
      }
    }
  }
}

}  // namespace

std::vector<ProductShape> linear_cross_entropy_products(const LinearCrossEntropyExtents& extents, int64_t gates,
                                                        bool has_gradient) {
  std::vector<ProductShape> products;
  if (extents.rows == 0) return products;
  const int64_t table = extents.classes - gates;
  const int64_t chunks = cpu::divide_up(extents.rows, cpu::chunk_rows(extents));
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const int64_t count =
        cpu::share_begin(extents.rows, chunk + 1, chunks) - cpu::share_begin(extents.rows, chunk, chunks);
    const int64_t rows = cpu::with_padding(count);
    for (const int64_t classes : {table, gates}) add_classes(products, classes, rows, extents.width, has_gradient);
    if (has_gradient) add_dx(products, rows, extents.width, table, gates);
  }
  return products;
}

}  // namespace segue::kernels
