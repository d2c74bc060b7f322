// Regular expressions of tokenizers, run by PCRE2.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace segue {

// What of Oniguruma's Ruby syntax, which tokenizer.json files are written in, means the same to PCRE2, as PCRE2 writes
// it. Throws RegexError for the rest: look-behind, back-references, \b, \G, flags within a pattern, POSIX brackets and
// intersections among it.
std::string translate_ruby_regex(std::string_view pattern);

// What is wrong with a pattern, or what a match took too long for.
struct RegexError {
  std::string reason;
};

// A compiled pattern, which threads may share.
class Regex {
 public:
  // In PCRE2's syntax. Throws RegexError.
  explicit Regex(const std::string& pattern);
  ~Regex();
  Regex(const Regex&) = delete;
  Regex& operator=(const Regex&) = delete;

  // Calls visit(begin, end) for every match in `text`, which is valid UTF-8, from left to right. An empty match right
  // behind another match is none. Throws RegexError where PCRE2 would need more than kMostSteps or kMostStack for one.
  void for_each_match(std::string_view text, const std::function<void(size_t begin, size_t end)>& visit) const;

 private:
  static constexpr uint32_t kMostSteps = 5'000'000;
  static constexpr size_t kMostStack = size_t{16} << 20;

  struct Code;
  std::unique_ptr<Code> code_;
};

}  // namespace segue
