// What is true of the connections that a listener accepts from now on: made from the configuration at start and at each
// reload, immutable, shared by the workers and swapped as a whole. ListenerBook makes them and keeps what outlives a
// reload: the keys of session tickets. Control thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/config/load.h"
#include "src/frontend/make_session.h"
#include "src/frontend/proxy_intake.h"
#include "src/net/tls_server.h"
#include "src/observe/metrics.h"

namespace pontage::gateway {

struct ListenerSettings {
  std::string name;
  std::uint16_t metric_id = 0;
  frontend::Front front{};
  frontend::ProxyTrust proxies{};
  std::uint16_t redirect_port = 0;
};

using SettingsPtr = std::shared_ptr<const ListenerSettings>;
using SettingsByBind = std::map<std::string, SettingsPtr>;

class ListenerBook {
 public:
  explicit ListenerBook(observe::Metrics& metrics) : metrics_(&metrics) {}

  // The settings of all listeners, or the problem of one: a certificate that cannot be used. Changes nothing that is in
  // use.
  wire::Expected<SettingsByBind, config::Problem> make(const config::Config& config);
  // These are in force now: their certificates are what the metrics tell about.
  void install(const SettingsByBind& settings);

 private:
  struct Tickets {
    config::Millis lifetime{};
    std::shared_ptr<net::TicketKeys> keys;
  };
  std::shared_ptr<net::TicketKeys> keys_for(const config::Listener& listener);

  observe::Metrics* metrics_;
  std::map<std::string, Tickets> tickets_;  // by bind text
  std::vector<observe::Metrics::Callback> expiries_;
};

}  // namespace pontage::gateway
