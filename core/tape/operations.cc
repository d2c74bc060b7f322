#include "core/tape/operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/tape/rows.h"
#include "kernels/bucket_bias.h"
#include "kernels/embedding.h"
#include "kernels/layer_norm.h"
#include "kernels/matmul.h"

namespace segue {

using kernels::Queue;

namespace {

// Elements of one stream in a tensor whose outermost extent counts streams.
int64_t elements_per_stream(const Shape& shape) { return shape.elements() / shape[0]; }

double flops_of(const std::vector<RecordedProduct>& products) {
  double sum = 0.0;
  for (const RecordedProduct& product : products) sum += product.shape.flops();
  return sum;
}

// y = x · op(W) for so many rows of x.
RecordedProduct forward_product(int64_t rows, const Parameter& weight, bool transposed, bool accumulate) {
  const Shape& shape = weight.value.shape;
  return {.shape = {.m = rows,
                    .n = shape[transposed ? 0 : 1],
                    .k = shape[transposed ? 1 : 0],
                    .transpose_b = transposed,
                    .accumulate = accumulate}};
}

// Adds dW, unless it is constant, and dx, where it is wanted.
void add_backward_products(std::vector<RecordedProduct>& products, int64_t rows, const Parameter& weight,
                           bool transposed, const GradientUse& dx) {
  const Shape& shape = weight.value.shape;
  if (!weight.is_constant())
    products.push_back({.shape = {.m = shape[0], .n = shape[1], .k = rows, .transpose_a = true, .accumulate = true}});
  if (dx.exists())
    products.push_back({.shape = {.m = rows,
                                  .n = shape[transposed ? 1 : 0],
                                  .k = shape[transposed ? 0 : 1],
                                  .transpose_b = !transposed},
                        .use = dx});
}

// The gradients of y = x · op(W), for dy = [rows, out].
void matrix_product_backward(Queue& queue, const Tape& tape, const Product& product, bool transposed,
                             ConstTensorView dy, const GradientUse& dx) {
  const ConstTensorView x = rows_of(tape.read(product.x.data));
  if (!product.weight.is_constant())
    kernels::matmul(queue, {.a = transposed ? dy : x,
                            .transpose_a = true,
                            .b = transposed ? x : dy,
                            .c = product.weight.gradient,
                            .accumulate = true});
  if (!dx.exists()) return;
  kernels::matmul(queue, {.a = dy,
                          .b = product.weight.operand(),
                          .transpose_b = !transposed,
                          .c = rows_of(tape.write(dx)),
                          .accumulate = tape.accumulates(dx)});
}

// y = sum of x · op(W); `transposed` means x · Wᵀ for weights [out, in].
Value sum_of_products(Tape& tape, const std::vector<Product>& products, bool transposed) {
  const Shape& weight = products.front().weight.value.shape;
  const Shape input = tape.shape(products.front().x.data);
  const bool is_learned = std::any_of(products.begin(), products.end(), [](const Product& product) {
    return product.x.gradient.exists() || !product.weight.is_constant();
  });
  const Value y = tape.new_value(with_last_extent(input, transposed ? weight[0] : weight[1]), is_learned);
  if (input.elements() == 0) return y;  // an empty memory has no rows to project
  std::vector<Slot> forward_slots{y.data};
  std::vector<Slot> backward_slots{y.gradient};
  std::vector<GradientUse> dx;
  std::vector<ConstTensorView> parameter_gradients;
  std::vector<RecordedProduct> forward_products;
  std::vector<RecordedProduct> backward_products;
  for (const Product& product : products) {
    dx.push_back(tape.use_gradient(product.x));
    const int64_t rows = as_rows(input)[0];
    forward_products.push_back(forward_product(rows, product.weight, transposed, !forward_products.empty()));
    add_backward_products(backward_products, rows, product.weight, transposed, dx.back());
    forward_slots.push_back(product.x.data);
    backward_slots.insert(backward_slots.end(), {product.x.data, dx.back().slot});
    if (!product.weight.is_constant()) parameter_gradients.emplace_back(product.weight.gradient);
  }
  tape.record({
      .name = "matmul",
      .forward_slots = std::move(forward_slots),
      .forward =
          [=, &tape](Queue& queue) {
            for (size_t i = 0; i < products.size(); ++i) {
              kernels::matmul(queue, {.a = rows_of(tape.read(products[i].x.data)),
                                      .b = products[i].weight.operand(),
                                      .transpose_b = transposed,
                                      .c = rows_of(tape.write(y.data)),
                                      .accumulate = i > 0});
            }
          },
      .backward_slots = std::move(backward_slots),
      .backward =
          [=, &tape](Queue& queue) {
            const ConstTensorView dy = rows_of(tape.read(y.gradient));
            for (size_t i = 0; i < products.size(); ++i)
              matrix_product_backward(queue, tape, products[i], transposed, dy, dx[i]);
          },
      .parameter_gradients = std::move(parameter_gradients),
      .flops = {.forward = flops_of(forward_products), .backward = flops_of(backward_products)},
      .forward_products = std::move(forward_products),
      .backward_products = std::move(backward_products),
      .detail = fmt::format("{}x{}x{}", as_rows(input)[0], transposed ? weight[0] : weight[1], last_extent(input)),
      .is_learned = is_learned,
  });
  return y;
}

}  // namespace

Value embed(Tape& tape, Slot tokens, const Parameter& table, const Lookup& lookup) {
  const Shape ids = tape.shape(tokens);
  const int64_t width = table.value.shape[1];
  const int64_t rows = ids.elements();
  const int64_t per_stream = rows / ids[0] * width;
  const Value y = tape.new_value(with_extent(ids, width));
  tape.record({
      .name = "embedding",
      .forward_slots = {y.data},
      .forward =
          [=, &tape](Queue& queue) {
            kernels::embedding_forward(queue, {.tokens = tape.read(tokens).reshaped({rows}),
                                               .table = table.operand(),
                                               .scale = lookup.scale,
                                               .dropout = tape.dropout(lookup.dropout, per_stream),
                                               .y = rows_of(tape.write(y.data)),
                                               .first_token = lookup.first_token,
                                               .vocabulary = lookup.vocabulary});
          },
      .backward_slots = {y.gradient},
      .backward =
          [=, &tape](Queue& queue) {
            kernels::embedding_backward(queue, {.tokens = tape.read(tokens).reshaped({rows}),
                                                .dy = rows_of(tape.read(y.gradient)),
                                                .scale = lookup.scale,
                                                .dropout = tape.dropout(lookup.dropout, per_stream),
                                                .dtable = table.gradient,
                                                .first_token = lookup.first_token,
                                                .vocabulary = lookup.vocabulary});
          },
      .parameter_gradients = {table.gradient},
  });
  return y;
}

Value look_up(Tape& tape, Slot indices, Slot table) {
  const Shape ids = tape.shape(indices);
  const Value y{.data = tape.new_slot(with_extent(ids, tape.shape(table)[1]), tape.activations()), .gradient = {}};
  tape.record({.name = "look_up",
               .forward_slots = {y.data},
               .forward =
                   [=, &tape](Queue& queue) {
                     kernels::embedding_forward(queue, {.tokens = tape.read(indices).reshaped({ids.elements()}),
                                                        .table = tape.read(table),
                                                        .y = rows_of(tape.write(y.data))});
                   },
               .backward_slots = {},
               .backward = nullptr});
  return y;
}

Value bucket_bias(Tape& tape, Slot buckets, const Parameter& table) {
  const Shape shape{table.value.shape[1], tape.shape(buckets)[0]};
  const Value bias{.data = tape.new_slot(shape), .gradient = tape.training() ? tape.new_slot(shape) : Slot{}};
  tape.record({
      .name = "bucket_bias",
      .forward_slots = {buckets, bias.data},
      .forward =
          [=, &tape](Queue& queue) {
            kernels::bucket_bias_forward(
                queue, {.buckets = tape.read(buckets), .table = table.value, .bias = tape.write(bias.data)});
          },
      .backward_slots = {buckets, bias.gradient},
      .backward =
          [=, &tape](Queue& queue) {
            kernels::bucket_bias_backward(
                queue, {.buckets = tape.read(buckets), .dbias = tape.read(bias.gradient), .dtable = table.gradient});
          },
      .parameter_gradients = {table.gradient},
  });
  return bias;
}

Value distance_curve(Tape& tape, const DistanceCurve& curve, int64_t distances) {
  const Shape shape{curve.alpha.value.shape[0], distances};
  std::vector<ConstTensorView> gradients{curve.alpha.gradient};
  if (!curve.beta.gradient.empty()) gradients.emplace_back(curve.beta.gradient);
  const Value values{.data = tape.new_slot(shape), .gradient = tape.training() ? tape.new_slot(shape) : Slot{}};
  tape.record({
      .name = "distance_curve",
      .forward_slots = {values.data},
      .forward =
          [=, &tape](Queue& queue) {
            kernels::distance_curve_forward(queue, {.formula = curve.formula,
                                                    .alpha = curve.alpha.value,
                                                    .beta = curve.beta.value,
                                                    .curve = tape.write(values.data),
                                                    .span = curve.span});
          },
      .backward_slots = {values.gradient},
      .backward =
          [=, &tape](Queue& queue) {
            kernels::distance_curve_backward(queue, {.formula = curve.formula,
                                                     .alpha = curve.alpha.value,
                                                     .beta = curve.beta.value,
                                                     .dcurve = tape.read(values.gradient),
                                                     .dalpha = curve.alpha.gradient,
                                                     .dbeta = curve.beta.gradient,
                                                     .span = curve.span});
          },
      .parameter_gradients = std::move(gradients),
  });
  return values;
}

Value sum_of_biases(Tape& tape, const Value& a, const Value& b) {
  const Shape shape = tape.shape(a.data);
  const bool is_learned = a.gradient.exists() || b.gradient.exists();
  const Value sum{.data = tape.new_slot(shape), .gradient = is_learned ? tape.new_slot(shape) : Slot{}};
  const std::array<Value, 2> terms{a, b};
  const std::array<GradientUse, 2> uses{tape.use_gradient(a), tape.use_gradient(b)};
  tape.record({
      .name = "sum_of_biases",
      .forward_slots = {a.data, b.data, sum.data},
      .forward =
          [=, &tape](Queue& queue) {
            for (size_t i = 0; i < terms.size(); ++i)
              kernels::dropout_forward(queue,
                                       {.x = tape.read(terms[i].data), .y = tape.write(sum.data), .accumulate = i > 0});
          },
      .backward_slots = {sum.gradient, uses[0].slot, uses[1].slot},
      .backward =
          [=, &tape](Queue& queue) {
            for (const GradientUse& use : uses) {
              if (!use.exists()) continue;
              kernels::dropout_backward(
                  queue, {.dy = tape.read(sum.gradient), .dx = tape.write(use), .accumulate = tape.accumulates(use)});
            }
          },
  });
  return sum;
}

Value linear(Tape& tape, const Value& x, const Parameter& weight) { return sum_of_products(tape, {{x, weight}}, true); }

Value linear_sum(Tape& tape, const std::vector<Product>& products) { return sum_of_products(tape, products, true); }

Value linear_transposed(Tape& tape, const Value& x, const Parameter& weight) {
  return sum_of_products(tape, {{x, weight}}, false);
}

Value dropout(Tape& tape, const Value& x, const DropoutSite& site) {
  if (site.p == 0.0 || !tape.training()) return x;
  const bool is_learned = x.gradient.exists();
  const Value y = tape.new_value(tape.shape(x.data), is_learned);
  const int64_t per_stream = elements_per_stream(tape.shape(x.data));
  const GradientUse dx = tape.use_gradient(x);
  tape.record({
      .name = "dropout",
      .forward_slots = {x.data, y.data},
      .forward =
          [=, &tape](Queue& queue) {
            kernels::dropout_forward(
                queue, {.x = tape.read(x.data), .dropout = tape.dropout(site, per_stream), .y = tape.write(y.data)});
          },
      .backward_slots = {y.gradient, dx.slot},
      .backward =
          [=, &tape](Queue& queue) {
            kernels::dropout_backward(queue, {.dy = tape.read(y.gradient),
                                              .dropout = tape.dropout(site, per_stream),
                                              .dx = tape.write(dx),
                                              .accumulate = tape.accumulates(dx)});
          },
      .is_learned = is_learned,
  });
  return y;
}

namespace {

// Both forms of layer norm. `sum` is a value of its own when others read it later, otherwise only saved for backward.
Value record_layer_norm(Tape& tape, const Residual& residual, const LayerNormParameters& norm, const Value& sum) {
  const Value& x = residual.sum;
  const Value& branch = residual.branch;
  const Shape shape = tape.shape(x.data);
  const int64_t rows = as_rows(shape)[0];
  const bool is_learned = x.gradient.exists() || branch.gradient.exists() || !norm.gain.is_constant();
  const Value y = tape.new_value(shape, is_learned);
  std::vector<ConstTensorView> parameter_gradients;
  if (!norm.gain.is_constant()) parameter_gradients = {norm.gain.gradient, norm.bias.gradient};
  const Slot mean = tape.new_slot({rows});
  const Slot rstd = tape.new_slot({rows});
  const Slot saved = sum.data.exists() ? sum.data : x.data;
  const int64_t per_stream = elements_per_stream(shape);
  const GradientUse dx = tape.use_gradient(x);
  const GradientUse dbranch = tape.overwrite_gradient(branch);
  tape.record({
      .name = "layer_norm",
      .forward_slots = {x.data, branch.data, sum.data, y.data, mean, rstd},
      .forward =
          [=, &tape](Queue& queue) {
            kernels::layer_norm_forward(queue, {.x = rows_of(tape.read(x.data)),
                                                .branch = rows_of(tape.read(branch.data)),
                                                .dropout = tape.dropout(residual.site, per_stream),
                                                .gain = norm.gain.value,
                                                .bias = norm.bias.value,
                                                .epsilon = norm.epsilon,
                                                .sum = rows_of(tape.write(sum.data)),
                                                .y = rows_of(tape.write(y.data)),
                                                .mean = tape.write(mean),
                                                .rstd = tape.write(rstd)});
          },
      .backward_slots = {y.gradient, sum.gradient, saved, mean, rstd, dx.slot, dbranch.slot},
      .backward =
          [=, &tape](Queue& queue) {
            kernels::layer_norm_backward(queue, {.dy = rows_of(tape.read(y.gradient)),
                                                 .ds_other = rows_of(tape.read(sum.gradient)),
                                                 .sum = rows_of(tape.read(saved)),
                                                 .mean = tape.read(mean),
                                                 .rstd = tape.read(rstd),
                                                 .gain = norm.gain.value,
                                                 .dropout = tape.dropout(residual.site, per_stream),
                                                 .dx = rows_of(tape.write(dx)),
                                                 .accumulate_dx = tape.accumulates(dx),
                                                 .dbranch = rows_of(tape.write(dbranch)),
                                                 .dgain = norm.gain.gradient,
                                                 .dbias = norm.bias.gradient});
          },
      .parameter_gradients = std::move(parameter_gradients),
      .is_learned = is_learned,
  });
  return y;
}

}  // namespace

void declare_layer_norm(const std::string& name, int64_t d_model, std::vector<ParameterSpec>& specs) {
  specs.push_back({name + ".gain", {d_model}, Initializer::kGain});
  specs.push_back({name + ".bias", {d_model}, Initializer::kZero});
}

LayerNormParameters layer_norm(Parameters& parameters, const std::string& name, double epsilon) {
  return {
      .gain = parameters[name + ".gain"], .bias = parameters[name + ".bias"], .epsilon = static_cast<float>(epsilon)};
}

NormalisedResidual add_and_normalise(Tape& tape, const Residual& residual, const LayerNormParameters& norm) {
  if (!residual.branch.data.exists()) return {residual.sum, record_layer_norm(tape, residual, norm, {})};
  const Value sum = tape.new_value(tape.shape(residual.sum.data));
  return {sum, record_layer_norm(tape, residual, norm, sum)};
}

Value normalise(Tape& tape, const Residual& residual, const LayerNormParameters& norm) {
  if (tape.shape(residual.sum.data).elements() == 0) return residual.sum;  // an empty memory
  if (!residual.branch.data.exists()) return record_layer_norm(tape, residual, norm, {});
  const Value sum{.data = tape.new_slot(tape.shape(residual.sum.data), tape.activations()), .gradient = {}};
  return record_layer_norm(tape, residual, norm, sum);
}

Value add(Tape& tape, const Residual& residual) {
  const Value& x = residual.sum;
  const Value& branch = residual.branch;
  const Value y = tape.new_value(tape.shape(x.data));
  const int64_t per_stream = elements_per_stream(tape.shape(x.data));
  const GradientUse dx = tape.use_gradient(x);
  const GradientUse dbranch = tape.use_gradient(branch);
  tape.record({
      .name = "residual_sum",
      .forward_slots = {x.data, branch.data, y.data},
      .forward =
          [=, &tape](Queue& queue) {
            kernels::dropout_forward(queue, {.x = tape.read(x.data), .dropout = {}, .y = tape.write(y.data)});
            kernels::dropout_forward(queue, {.x = tape.read(branch.data),
                                             .dropout = tape.dropout(residual.site, per_stream),
                                             .y = tape.write(y.data),
                                             .accumulate = true});
          },
      .backward_slots = {y.gradient, dx.slot, dbranch.slot},
      .backward =
          [=, &tape](Queue& queue) {
            if (dbranch.exists())
              kernels::dropout_backward(queue, {.dy = tape.read(y.gradient),
                                                .dropout = tape.dropout(residual.site, per_stream),
                                                .dx = tape.write(dbranch),
                                                .accumulate = tape.accumulates(dbranch)});
            kernels::dropout_backward(
                queue,
                {.dy = tape.read(y.gradient), .dropout = {}, .dx = tape.write(dx), .accumulate = tape.accumulates(dx)});
          },
  });
  return y;
}

Value feed_forward(Tape& tape, const Value& x, const FeedForwardParameters& parameters, const DropoutSite& site) {
  const Shape shape = tape.shape(x.data);
  const int64_t d_inner = parameters.w1.value.shape[0];
  const Shape inner = with_last_extent(shape, d_inner);
  const Value y = tape.new_value(shape);
  const bool gelu = parameters.activation == kernels::Activation::kGelu;
  const Slot pre = gelu ? tape.new_slot(inner, tape.activations()) : Slot{};
  const Slot hidden = tape.new_slot(inner, tape.activations());
  const Slot workspace = tape.training() ? tape.new_slot(as_rows(inner), tape.activations()) : Slot{};
  const int64_t per_stream = elements_per_stream(inner);
  const GradientUse dx = tape.use_gradient(x);
  const int64_t rows = as_rows(shape)[0];
  std::vector<RecordedProduct> forward_products{forward_product(rows, parameters.w1, true, false),
                                                forward_product(rows, parameters.w2, true, false)};
  std::vector<RecordedProduct> backward_products;
  const GradientUse dhidden{.slot = workspace};  // which nothing else writes
  add_backward_products(backward_products, rows, parameters.w2, true, dhidden);
  add_backward_products(backward_products, rows, parameters.w1, true, dx);
  tape.record({
      .name = "feed_forward",
      .forward_slots = {x.data, pre, hidden, y.data},
      .forward =
          [=, &tape](Queue& queue) {
            kernels::feed_forward_forward(queue, {.x = rows_of(tape.read(x.data)),
                                                  .w1 = parameters.w1.operand(),
                                                  .b1 = parameters.b1.value,
                                                  .w2 = parameters.w2.operand(),
                                                  .b2 = parameters.b2.value,
                                                  .activation = parameters.activation,
                                                  .dropout = tape.dropout(site, per_stream),
                                                  .pre = rows_of(tape.write(pre)),
                                                  .hidden = rows_of(tape.write(hidden)),
                                                  .y = rows_of(tape.write(y.data))});
          },
      .backward_slots = {y.gradient, x.data, pre, hidden, workspace, dx.slot},
      .backward =
          [=, &tape](Queue& queue) {
            kernels::feed_forward_backward(queue, {.dy = rows_of(tape.read(y.gradient)),
                                                   .x = rows_of(tape.read(x.data)),
                                                   .w1 = parameters.w1.operand(),
                                                   .w2 = parameters.w2.operand(),
                                                   .pre = rows_of(tape.read(pre)),
                                                   .hidden = rows_of(tape.read(hidden)),
                                                   .activation = parameters.activation,
                                                   .dropout = tape.dropout(site, per_stream),
                                                   .workspace = tape.write(workspace),
                                                   .dx = rows_of(tape.write(dx)),
                                                   .accumulate_dx = tape.accumulates(dx),
                                                   .dw1 = parameters.w1.gradient,
                                                   .db1 = parameters.b1.gradient,
                                                   .dw2 = parameters.w2.gradient,
                                                   .db2 = parameters.b2.gradient});
          },
      .parameter_gradients = {parameters.w1.gradient, parameters.b1.gradient, parameters.w2.gradient,
                              parameters.b2.gradient},
      .flops = {.forward = flops_of(forward_products), .backward = flops_of(backward_products)},
      .forward_products = std::move(forward_products),
      .backward_products = std::move(backward_products),
  });
  return y;
}

}  // namespace segue
