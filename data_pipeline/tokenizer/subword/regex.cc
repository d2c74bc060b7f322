// PCRE2 with its compiler for this processor.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "data_pipeline/tokenizer/subword/regex.h"

#include <fmt/format.h>
#include <pcre2.h>

#include <array>

#include "data_pipeline/tokenizer/subword/subword_text.h"
#include "data_pipeline/tokenizer/subword/unicode_data.h"

namespace segue {
namespace {

template <typename T, void (*release)(T*)>
struct Release {
  void operator()(T* held) const { release(held); }
};
template <typename T, void (*release)(T*)>
using Held = std::unique_ptr<T, Release<T, release>>;

std::string message_of(int error) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

// What matching needs beside the pattern; one for each thread.
struct MatchWorkspace {
  MatchWorkspace(uint32_t most_steps, size_t most_stack)
      : context(pcre2_match_context_create(nullptr)),
        stack(pcre2_jit_stack_create(size_t{32} << 10, most_stack, nullptr)),
        data(pcre2_match_data_create(1, nullptr)) {
    pcre2_set_match_limit(context.get(), most_steps);
    pcre2_set_heap_limit(context.get(), static_cast<uint32_t>(most_stack >> 10));
    pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
  }
  Held<pcre2_match_context, pcre2_match_context_free> context;
  Held<pcre2_jit_stack, pcre2_jit_stack_free> stack;
  Held<pcre2_match_data, pcre2_match_data_free> data;
  std::string subject;
};

}  // namespace

struct Regex::Code {
  Code() = default;
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code() { pcre2_code_free(compiled); }
  pcre2_code* compiled = nullptr;
};

Regex::Regex(const std::string& pattern) : code_(std::make_unique<Code>()) {
  const Held<pcre2_compile_context, pcre2_compile_context_free> context(pcre2_compile_context_create(nullptr));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_parens_nest_limit(context.get(), 50);
  int error = 0;
  PCRE2_SIZE at = 0;
  constexpr uint32_t kOptions = PCRE2_UTF | PCRE2_UCP | PCRE2_NO_AUTO_CAPTURE | PCRE2_NEVER_BACKSLASH_C;
  code_->compiled =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), kOptions, &error, &at, context.get());
  if (code_->compiled == nullptr) throw RegexError{message_of(error)};
  pcre2_jit_compile(code_->compiled, PCRE2_JIT_COMPLETE);  // where it cannot, matching interprets
}

Regex::~Regex() = default;

void Regex::for_each_match(std::string_view text, const std::function<void(size_t, size_t)>& visit) const {
  thread_local MatchWorkspace workspace(kMostSteps, kMostStack);
  const std::string_view subject = with_stand_ins(text, workspace.subject);
  const PCRE2_SIZE* const found = pcre2_get_ovector_pointer(workspace.data.get());
  size_t at = 0;
  size_t last_end = std::string_view::npos;
  while (at <= subject.size()) {
    const int matched = pcre2_match(code_->compiled, reinterpret_cast<PCRE2_SPTR>(subject.data()), subject.size(), at,
                                    PCRE2_NO_UTF_CHECK, workspace.data.get(), workspace.context.get());
    if (matched == PCRE2_ERROR_NOMATCH) return;
    if (matched < 0) throw RegexError{message_of(matched)};
    const size_t begin = found[0];
    const size_t end = found[1];
    if (begin == end) {
      const bool is_new = begin != last_end;
      at = end + (end < subject.size() ? character_size(subject[end]) : 1);
      if (!is_new) continue;
    } else {
      at = end;
    }
    last_end = end;
    visit(begin, end);
  }
}

}  // namespace segue
