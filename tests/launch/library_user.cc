// A program built upon the installed library, for library_test.py: it says what it was given back, and what it caught.
//
//   library_user CHECKPOINT [KEY VALUE]... score TEXT CONTEXT | generate PROMPT
#include <segue/error.h>
#include <segue/language_model.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace {

struct Settings {
  segue::ModelOptions model;
  segue::GenerationOptions generation;
};

void set(Settings& settings, const std::string& key, const std::string& value) {
  segue::LengthOptions& lengths = settings.model.lengths;
  if (key == "mem_len") lengths.mem_len = std::stoll(value);
  if (key == "same_length") lengths.same_length = value == "true";
  if (key == "set") lengths.set.push_back(value);
  if (key == "device") settings.model.device = value;
  if (key == "threads") settings.model.threads = std::stoi(value);
  if (key == "tokens") settings.generation.tokens = std::stoll(value);
  if (key == "samples") settings.generation.samples = std::stoll(value);
  if (key == "top_p") settings.generation.sampling.top_p = std::stod(value);
  if (key == "seed") settings.generation.sampling.seed = std::stoull(value);
  if (key == "stop") settings.generation.stop = value;
}

void run(int argc, char** argv) {
  Settings settings;
  int at = 2;
  for (; std::strcmp(argv[at], "score") != 0 && std::strcmp(argv[at], "generate") != 0; at += 2)
    set(settings, argv[at], argv[at + 1]);
  segue::LanguageModel loaded(argv[1], settings.model);
  segue::LanguageModel model(std::move(loaded));
  for (const std::string& warning : model.warnings()) std::printf("warning\t%s\n", warning.c_str());
  if (std::strcmp(argv[at], "score") == 0) {
    const segue::ScoredText scored = model.score(argv[at + 1], at + 2 < argc ? argv[at + 2] : "");
    for (const segue::ScoredToken& token : scored.tokens)
      std::printf("token\t%s\t%.9g\n", token.text.c_str(), token.nats.value_or(-1.0));
    std::printf("sum\t%.9g\t%.9g\n", scored.nats, scored.bits_per_byte.value_or(-1.0));
  } else {
    for (const segue::GeneratedText& text : model.generate(argv[at + 1], settings.generation))
      std::printf("sample\t%s\t%lld\t%d\n", text.text.c_str(), static_cast<long long>(text.tokens),
                  text.stopped ? 1 : 0);
  }
}

// What a model's threads do with subnormal numbers is no business of its caller's.
bool are_subnormal_numbers_kept() {
  volatile float small_number = 1e-30F;
  return small_number * 1e-10F > 0.0F;
}

int tell(const char* type, const segue::Error& error) {
  std::fprintf(stderr, "%s\t%s\n", type, error.what());
  return static_cast<int>(error.code());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc, argv);
    if (!are_subnormal_numbers_kept()) {
      std::fprintf(stderr, "the caller's subnormal numbers have become 0\n");
      return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
  } catch (const segue::ConfigError& error) {
    return tell("ConfigError", error);
  } catch (const segue::DataError& error) {
    return tell("DataError", error);
  } catch (const segue::CheckpointError& error) {
    return tell("CheckpointError", error);
  } catch (const segue::Error& error) {
    return tell("Error", error);
  }
}
