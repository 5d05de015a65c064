#include "runtime/train/run_log.hpp"

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "kernels/base/error.hpp"
#include "kernels/base/version.hpp"

namespace cohort {
namespace {

using Json = nlohmann::ordered_json;

constexpr int schema_version = 1;

// JSON has no NaN and no infinity.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json object(const NamedValues& values) {
  Json json = Json::object();
  for (const auto& [name, value] : values) json[name] = number(value);
  return json;
}

// File names in flags need not be UTF-8.
std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

RunLog::RunLog(const std::string& path) : path_(path) {
  if (path.empty()) return;
  file_ = open_for_writing(path);
  if (!file_) throw_usage("--run-log {}: cannot be written: {}", path, std::strerror(errno));
}

void RunLog::write(const std::string& line) {
  // Whole lines reach the file at once: a run that is killed leaves a readable log.
  if (std::fputs((line + "\n").c_str(), file_.get()) < 0 || std::fflush(file_.get()) != 0)
    COHORT_FAIL(io, "cannot write the run log {}: {}", path_, std::strerror(errno));
}

void RunLog::start(const TrainConfig& config, const World& world, const RunDescription& run) {
  if (!file_) return;
  Json json{{"type", "start"},
            {"schema", schema_version},
            {"time", unix_time()},
            {"version", version_text()},
            {"mpi", describe_library(world)}};
  visit_flags(config, [&](const FlagInfo& flag, const auto& value) { json["config"][std::string(flag.name)] = value; });
  for (const RankInfo& rank : world.ranks())
    json["ranks"].push_back({{"rank", rank.rank}, {"host", rank.host}, {"pid", rank.pid}, {"node", rank.node}});
  json["network"] = run.network;
  json["parameters"] = run.parameters;
  json["data"] = run.data;
  json["train_samples"] = run.train_samples;
  json["validation_samples"] = run.validation_samples;
  json["steps_per_epoch"] = run.steps_per_epoch;
  json["global_batch"] = run.global_batch;
  json["kv_store"] = run.kv_store;
  json["weights"] = run.weights_placement;
  json["threads"] = run.threads;
  write(text_of(json));
}

void RunLog::step(const StepRecord& r) {
  if (!file_) return;
  const Json json{{"type", "step"},
                  {"epoch", r.epoch},
                  {"step", r.step},
                  {"global_step", r.global_step},
                  {"samples", r.samples},
                  {"loss", number(r.loss)},
                  {"accuracy", number(r.accuracy)},
                  {"lr", number(r.learning_rate)},
                  {"seconds", number(r.seconds)}};
  write(text_of(json));
}

void RunLog::epoch(const EpochRecord& r) {
  if (!file_) return;
  Json json{{"type", "epoch"},
            {"epoch", r.epoch},
            {"steps", r.steps},
            {"samples", r.samples},
            {"seconds", number(r.seconds)},
            {"samples_per_second", number(static_cast<double>(r.samples) / r.seconds)},
            {"train", object(r.train)}};
  if (!r.validation.empty()) json["validation"] = object(r.validation);
  write(text_of(json));
}

void RunLog::event(const std::string& what, const std::string& detail) {
  if (!file_) return;
  write(text_of(Json{{"type", "event"}, {"time", unix_time()}, {"what", what}, {"detail", detail}}));
}

void RunLog::end(const std::string& status, std::int64_t steps, std::int64_t samples, double seconds) {
  if (!file_) return;
  const Json json{{"type", "end"},  {"time", unix_time()}, {"status", status},
                  {"steps", steps}, {"samples", samples},  {"seconds", number(seconds)}};
  write(text_of(json));
}

}  // namespace cohort
