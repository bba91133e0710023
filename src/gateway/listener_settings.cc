#include "src/gateway/listener_settings.h"

namespace pontage::gateway {

namespace {

frontend::SessionRules rules_of(const config::Listener& listener) noexcept {
  return {.half_close = listener.half_close, .http2 = listener.http2 ? frontend::Http2::on : frontend::Http2::off};
}

// Found good by the check of the configuration.
frontend::ProxyTrust trust_of(const config::Listener& listener) {
  frontend::ProxyTrust trust;
  for (const auto& text : listener.proxy_trust) {
    if (const auto network = net::Network::parse(text)) trust.networks.push_back(*network);
    if (text == "unix") trust.unix_sockets = true;
  }
  return trust;
}

}  // namespace

std::shared_ptr<net::TicketKeys> ListenerBook::keys_for(const config::Listener& listener) {
  Tickets& kept = tickets_[listener.bind];
  const auto lifetime = listener.tls.session_timeout;
  if (!kept.keys || kept.lifetime != lifetime) {
    kept = {lifetime, std::make_shared<net::TicketKeys>(lifetime.count() / 1000)};
  }
  return kept.keys;
}

wire::Expected<SettingsByBind, config::Problem> ListenerBook::make(const config::Config& config) {
  SettingsByBind all;
  for (const auto& listener : config.listeners) {
    auto settings =
        std::make_shared<ListenerSettings>(ListenerSettings{.name = listener.name,
                                                            .metric_id = metrics_->intern_listener(listener.name),
                                                            .front = {.rules = rules_of(listener)},
                                                            .proxies = trust_of(listener),
                                                            .redirect_port = listener.redirect_port});
    if (listener.tls.enabled()) {
      auto tls = net::TlsServer::make(listener.tls, listener.bind, keys_for(listener));
      if (!tls) {
        return wire::Unexpected(config::Problem{config::Severity::error, tls.error().place, tls.error().text});
      }
      settings->front.tls = *std::move(tls);
    }
    all[listener.bind] = std::move(settings);
  }
  return all;
}

void ListenerBook::install(const SettingsByBind& settings) {
  expiries_.clear();
  for (const auto& [bind, listener] : settings) {
    if (!listener->front.tls) continue;
    const auto& pairs = listener->front.tls->config().certificates;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const auto until = static_cast<double>(listener->front.tls->identities()[i].not_after);
      expiries_.push_back(metrics_->callback_gauge(observe::Family::tls_certificate_expiry_seconds,
                                                   {listener->name, pairs[i].cert}, [until] { return until; }));
    }
  }
  std::erase_if(tickets_, [&](const auto& kept) { return !settings.contains(kept.first); });
}

}  // namespace pontage::gateway
