// How surprising a text is to a model, token by token: score_text RUN_OR_CHECKPOINT FILE
#include <segue/error.h>
#include <segue/language_model.h>

#include <cmath>
#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: score_text RUN_OR_CHECKPOINT FILE\n");
    return static_cast<int>(segue::ExitCode::kUsage);
  }
  try {
    segue::LanguageModel model(argv[1]);
    for (const std::string& warning : model.warnings()) std::fprintf(stderr, "score_text: %s\n", warning.c_str());
    const segue::ScoredText scored = model.score_file(argv[2]);
    for (const segue::ScoredToken& token : scored.tokens) {
      if (token.nats) std::printf("%.4f\t%s\n", *token.nats / std::log(2.0), token.text.c_str());
    }
    if (scored.bits_per_byte) std::printf("%.4f bits per byte\n", *scored.bits_per_byte);
    return static_cast<int>(segue::ExitCode::kSuccess);
  } catch (const segue::Error& error) {
    std::fprintf(stderr, "score_text: %s\n", error.what());
    return static_cast<int>(error.code());
  }
}
