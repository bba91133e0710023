#include "src/config/load.h"

#include <yaml-cpp/yaml.h>

#include "src/config/check.h"
#include "src/config/document.h"
#include "src/config/files.h"
#include "src/config/reader.h"
#include "src/config/secrets.h"

namespace pontage::config {
namespace {

void name_routes(Config& config) {
  for (std::size_t i = 0; i < config.routes.size(); ++i) {
    auto& route = config.routes[i];
    if (!route.name.empty()) continue;
    route.name = route.match.paths.empty() ? "route-" + std::to_string(i + 1) : route.match.paths.front();
  }
}

void settle_alpn(Config& config) {
  for (auto& listener : config.listeners) {
    if (!listener.http2) std::erase(listener.tls.alpn, "h2");
  }
}

}  // namespace

Loaded load_file(const std::string& file) {
  const auto text = read_file(file, kFileLimit);
  if (text) return load_text(file, *text);
  Loaded loaded;
  loaded.config.file = file;
  loaded.problems.push_back({Severity::error, {}, text.error()});
  return loaded;
}

Loaded load_text(const std::string& file, std::string_view text) {
  Loaded loaded;
  loaded.config.file = file;
  Problems problems;
  Reader reader(loaded.config, problems);
  if (const auto root = parse_document(text, problems)) {
    try {
      reader.read(*root);
    } catch (const YAML::Exception& exception) {
      problems.error(place_of(exception.mark), "the YAML library gave up here");
    }
    name_routes(loaded.config);
    settle_alpn(loaded.config);
    check_listeners(loaded.config, reader.places(), problems);
    check_tls_keys(loaded.config, reader.places(), problems);
    check_backends(loaded.config, reader.places(), problems);
    check_routes(loaded.config, reader.places(), problems);
  }
  loaded.problems = problems.take();
  loaded.text = mask_secrets(text, reader.secret_places());
  return loaded;
}

}  // namespace pontage::config
