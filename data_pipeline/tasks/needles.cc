// Needles in a haystack, as RULER (Hsieh et al. 2024) has them: numbers of seven digits under names, one of which is
// asked.
//
// One item is niah_single, with more only the key tells which (niah_multikey_1 has 4; in multikey_2 needles are all the
// text there is: as many as the length holds). What differs: names are made-up words, the haystack is text of a
// dataset, and the places are uniform in it, not at the ends of sentences.
#include <fmt/format.h>

#include "data_pipeline/tasks/filler_text.h"

namespace segue {

namespace {

constexpr int64_t kLettersOfName = 6;
constexpr int64_t kSmallestNumber = 1'000'000;
constexpr int64_t kLargestNumber = 9'999'999;

class NeedlesTask : public TextTask {
 public:
  using TextTask::TextTask;

 protected:
  void fill(const TaskPart& part, const SpecPlace& place, TaskRandom& random, TaskExample& example) const override {
    HiddenText content{.intro =
                           "Special magic numbers are hidden within the following text. Make sure to memorize "
                           "them. I will quiz you about one of them afterwards."};
    std::vector<std::string> numbers;
    const std::vector<std::string> names = MadeUpWords(kLettersOfName, 'a', random).next(part.items);
    for (const std::string& name : names) {
      numbers.push_back(fmt::format(" {}", random.between(kSmallestNumber, kLargestNumber)));
      content.hidden.push_back({" One of the special magic numbers for", " " + name, " is:", numbers.back(), "."});
    }
    const auto asked = static_cast<size_t>(random.below(part.items));
    const std::string name = " " + names[asked];
    content.question = {" What is the special magic number for", name,
                        " mentioned in the provided text? The special magic number for", name,
                        " mentioned in the provided text is"};
    content.answers = {{.text = numbers[asked], .decided_by = asked}};
    hide(content, part, place, random, example);
  }
};

}  // namespace

std::unique_ptr<Task> make_needles(const TaskSpec& spec, const SpecPlace& place) {
  return std::make_unique<NeedlesTask>(spec, place);
}

}  // namespace segue
