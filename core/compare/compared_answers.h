// Right answers of a variant by what the examples ask for and by distance, over its seeds.
#pragma once

#include <vector>

#include "base/json_text.h"
#include "core/compare/comparison_result.h"
#include "core/report/answer_drawings.h"

namespace segue {

// Of every seed of the result at one of the measured lengths; null where training diverged. Throws DataError naming a
// run whose answers are of other examples than those of the first.
std::vector<const report::Answers*> answers_of_seeds(const ComparisonResult& result, const ComparedVariant& variant,
                                                     size_t point);

// The mean over seeds, of which one at least did not diverge. Its interval is of the seeds, or of the text where that
// is wider, as where all are right from every seed; of one seed that was asked for, of the text; of one that is left of
// several there is none.
report::AnswerShare share_over_seeds(const std::vector<std::optional<report::AnswerShare>>& of_seeds);

// Likewise of all places at once, with what each seed answers there.
report::Shares shares_over_seeds(const std::vector<const report::Answers*>& of_seeds,
                                 const report::SharesOf& shares_of);

// Means over seeds by runs of examples.
report::Answers examples_over_seeds(const std::vector<const report::Answers*>& of_seeds);

// {"by_examples", "by_distance"} of result_json.
void add_answers(OrderedJson& json, const std::vector<const report::Answers*>& of_seeds);

}  // namespace segue
