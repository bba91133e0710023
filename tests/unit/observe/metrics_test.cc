#include "src/observe/metrics.h"

#include <map>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/observe/collectable.h"

namespace pontage::observe {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::map<std::string, double> values_of(const Metrics& metrics, Family family) {
  std::map<std::string, double> values;
  metrics.read([&](const Sample& sample) {
    if (sample.family != family) return;
    std::string key;
    for (const auto& label : sample.labels) key += (key.empty() ? "" : ",") + label;
    EXPECT_TRUE(values.emplace(key, sample.histogram != nullptr ? sample.histogram->count() : sample.value).second)
        << key;
  });
  return values;
}
using Values = std::map<std::string, double>;

TEST(Metrics, SumsTheWorkers) {
  Metrics metrics;
  auto& one = metrics.add_worker();
  const auto id = metrics.counter(Family::aborts_total, "client", "reset");
  auto& two = metrics.add_worker();
  one.add(id, 3);
  two.add(id, 4);
  EXPECT_EQ(values_of(metrics, Family::aborts_total), (Values{{"client,reset", 7}}));
}

TEST(Metrics, GaugesGoDownOnAnotherWorkerThanUp) {
  Metrics metrics;
  auto& one = metrics.add_worker();
  auto& two = metrics.add_worker();
  const auto id = metrics.gauge(Family::requests_in_flight);
  one.gauge_add(id, 2);
  two.gauge_add(id, -3);
  EXPECT_EQ(values_of(metrics, Family::requests_in_flight), (Values{{"", -1}}));
}

TEST(Metrics, CountsSurviveRegistrationAgain) {
  Metrics metrics;
  auto& worker = metrics.add_worker();
  worker.add(metrics.counter(Family::limit_hits_total, "body"), 1);
  worker.add(metrics.counter(Family::limit_hits_total, "header"), 5);
  worker.add(metrics.counter(Family::limit_hits_total, "body"), 1);
  EXPECT_EQ(values_of(metrics, Family::limit_hits_total), (Values{{"body", 2}, {"header", 5}}));
}

TEST(Metrics, LabelsThatJoinToTheSameTextAreTwoSeries) {
  Metrics metrics;
  EXPECT_NE(metrics.counter(Family::aborts_total, "a,b", "c").cell,
            metrics.counter(Family::aborts_total, "a", "b,c").cell);
  EXPECT_NE(metrics.counter(Family::aborts_total, "a", "").cell, metrics.counter(Family::aborts_total, "", "a").cell);
}

TEST(Metrics, SeriesAddedLaterDoNotDisturbAWriter) {
  Metrics metrics;
  auto& worker = metrics.add_worker();
  const auto first = metrics.counter(Family::limit_hits_total, "0");
  const auto timing = metrics.histogram(Family::request_duration_seconds, "0");
  std::atomic<bool> stop{false};
  std::uint64_t written = 0;
  std::thread writer([&] {
    while (!stop.load(std::memory_order_acquire)) {
      worker.add(first);
      worker.observe(timing, 1000);
      worker.count_request({.route = static_cast<std::uint16_t>(written % 700), .code = 200});
      ++written;
    }
  });
  double before = 0;
  for (int i = 1; i < 1500; ++i) {
    metrics.counter(Family::limit_hits_total, std::to_string(i));
    if (i % 10 == 0) metrics.histogram(Family::request_duration_seconds, std::to_string(i));
    if (i % 100 != 0) continue;
    const double now = values_of(metrics, Family::limit_hits_total)["0"];
    EXPECT_GE(now, before);
    before = now;
  }
  stop.store(true, std::memory_order_release);
  writer.join();
  EXPECT_EQ(values_of(metrics, Family::limit_hits_total)["0"], static_cast<double>(written));
  EXPECT_EQ(values_of(metrics, Family::request_duration_seconds)["0"], static_cast<double>(written));
  double requests = 0;
  for (const auto& [labels, count] : values_of(metrics, Family::requests_total)) requests += count;
  EXPECT_EQ(requests, static_cast<double>(written));
}

TEST(Metrics, DefaultIdsCountNowhere) {
  Metrics metrics;
  auto& worker = metrics.add_worker();
  worker.add(SeriesId{}, 9);
  worker.observe(HistogramId{}, 9);
  metrics.read([](const Sample& sample) { EXPECT_EQ(sample.value, 0); });
}

TEST(Metrics, GivesTheBinPastTheLimitAndCountsIt) {
  Metrics metrics;
  auto& worker = metrics.add_worker();
  for (std::size_t i = 1; i < kMaxSeries; ++i)
    ASSERT_NE(metrics.counter(Family::limit_hits_total, std::to_string(i)).cell, 0U);
  const auto over = metrics.counter(Family::limit_hits_total, "over");
  EXPECT_EQ(over.cell, 0U);
  worker.add(over);
  EXPECT_EQ(metrics.counter(Family::limit_hits_total, "1").cell, 1U);
  EXPECT_EQ(values_of(metrics, Family::series_dropped_total), (Values{{"", 1}}));
}

TEST(Metrics, RefusesTheWrongTypeOrNumberOfLabels) {
  Metrics metrics;
  EXPECT_THROW(metrics.counter(Family::requests_in_flight), std::invalid_argument);
  EXPECT_THROW(metrics.gauge(Family::requests_in_flight, "x"), std::invalid_argument);
  EXPECT_THROW(metrics.counter(Family::requests_total, "l", "r", "b", "GET", "200"), std::invalid_argument);
}

TEST(Metrics, OfTwoServersWithOneNameTheYoungestTellsWhetherItIsUp) {
  Metrics metrics;
  double value = 1;
  auto first = metrics.callback_gauge(Family::backend_server_up, {"app", "a"}, [&] { return value; });
  value = 2;
  EXPECT_EQ(values_of(metrics, Family::backend_server_up), (Values{{"app,a", 2}}));
  {
    const auto second = metrics.callback_gauge(Family::backend_server_up, {"app", "a"}, [] { return 7.0; });
    EXPECT_EQ(values_of(metrics, Family::backend_server_up), (Values{{"app,a", 7}}));
  }
  EXPECT_EQ(values_of(metrics, Family::backend_server_up), (Values{{"app,a", 2}}));
  Metrics::Callback moved = std::move(first);
  moved = {};
  EXPECT_TRUE(values_of(metrics, Family::backend_server_up).empty());
  const auto dropped = metrics.callback_counter(Family::log_dropped_total, {}, [] { return 3.0; });
  EXPECT_EQ(values_of(metrics, Family::log_dropped_total), (Values{{"", 3}}));
}

TEST(Metrics, CallbacksWithTheSameLabelsAddUpWithWhatWasCounted) {
  Metrics metrics;
  auto& worker = metrics.add_worker();
  const auto one = metrics.callback_gauge(Family::backend_queue_length, {"app"}, [] { return 2.0; });
  const auto two = metrics.callback_gauge(Family::backend_queue_length, {"app"}, [] { return 3.0; });
  EXPECT_EQ(values_of(metrics, Family::backend_queue_length), (Values{{"app", 5}}));
  worker.gauge_add(metrics.gauge(Family::backend_queue_length, "app"), 10);
  EXPECT_EQ(values_of(metrics, Family::backend_queue_length), (Values{{"app", 15}}));
}

TEST(Metrics, TellsRequestsApartByEveryLabel) {
  Metrics metrics;
  const auto listener = metrics.intern_listener(":80");
  const auto route = metrics.intern_route("/api/*");
  EXPECT_EQ(metrics.intern_route("/api/*"), route);
  EXPECT_EQ(metrics.intern_backend("none"), 0);
  EXPECT_EQ(metrics.intern_backend(""), 0);
  auto& one = metrics.add_worker();
  auto& two = metrics.add_worker();
  one.count_request({listener, route, 0, message::Method::get, 200});
  two.count_request({listener, route, 0, message::Method::get, 200});
  two.count_request({listener, route, 0, message::Method::get, 404});
  one.count_request({listener, 0, 0, message::Method::propfind, 200});
  one.count_request({listener, 0, 0, message::Method::other, 200});
  one.count_request({listener, 0, 0, message::Method::post, 42});
  const std::string get(message::metric_label(message::Method::get));
  const std::string post(message::metric_label(message::Method::post));
  EXPECT_EQ(values_of(metrics, Family::requests_total), (Values{{":80,/api/*,none," + get + ",200", 2},
                                                                {":80,/api/*,none," + get + ",404", 1},
                                                                {":80,none,none,other,200", 2},
                                                                {":80,none,none," + post + ",other", 1}}));
}

TEST(RequestTable, GrowsWithoutLosingACount) {
  RequestTable table;
  for (int round = 0; round < 3; ++round) {
    for (std::uint16_t i = 0; i < 4000; ++i) table.count({.route = i, .method = message::Method::get, .code = 200});
  }
  std::map<std::uint16_t, std::uint64_t> counts;
  table.each([&](const RequestKey& key, std::uint64_t count) {
    EXPECT_EQ(key, (RequestKey{.route = key.route, .method = message::Method::get, .code = 200}));
    EXPECT_TRUE(counts.emplace(key.route, count).second);
  });
  ASSERT_EQ(counts.size(), 4000U);
  for (const auto& [route, count] : counts) EXPECT_EQ(count, 3U);
  EXPECT_EQ(table.dropped(), 0U);
}

TEST(RequestTable, FoldsCodesAndMethodsWhenThereAreTooMany) {
  RequestTable table;
  std::uint64_t sent = 0;
  for (std::uint16_t route = 0; route < 20; ++route) {
    for (std::uint16_t code = 100; code < 600; ++code, ++sent)
      table.count({.route = route, .method = message::Method::get, .code = code});
  }
  std::uint64_t counted = 0;
  std::size_t keys = 0;
  table.each([&](const RequestKey& key, std::uint64_t count) {
    counted += count;
    ++keys;
    EXPECT_TRUE(key.code != 0 || key.method == message::Method::other);
  });
  EXPECT_EQ(counted, sent);
  EXPECT_LE(keys, RequestTable::kMaxKeys + 20);
  EXPECT_EQ(table.dropped(), sent - RequestTable::kMaxKeys);
}

TEST(RequestTable, StaysBoundedWhateverItIsGiven) {
  RequestTable table;
  for (std::uint32_t i = 0; i < 60000; ++i) table.count({.route = static_cast<std::uint16_t>(i), .code = 200});
  std::size_t keys = 0;
  table.each([&](const RequestKey&, std::uint64_t) { ++keys; });
  EXPECT_LE(keys, RequestTable::kMaxKeys * 3 / 2);
  table.count({.route = 1, .code = 200});
}

TEST(Collectable, RendersThePrometheusTextFormat) {
  Metrics metrics;
  auto& worker = metrics.add_worker();
  worker.count_request(
      {metrics.intern_listener(":80"), metrics.intern_route("a\"b\\c\nd"), 0, message::Method::get, 200});
  worker.add(metrics.counter(Family::toll_cpu_seconds_total, "ajp"), 2'500'000'000);
  const auto timing = metrics.histogram(Family::request_duration_seconds, "r");
  worker.observe(timing, 50'000);
  worker.observe(timing, 250'001);
  worker.observe(timing, 30'000'000'000);
  const std::string text = Collectable(metrics, "1.2.3").render_text();
  EXPECT_THAT(text, HasSubstr("# TYPE pontage_requests_total counter\n"));
  EXPECT_THAT(text, HasSubstr(R"(pontage_requests_total{listener=":80",route="a\"b\\c\nd",backend="none",method=")"));
  EXPECT_THAT(text, HasSubstr("pontage_toll_cpu_seconds_total{adapter=\"ajp\"} 2.5\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE pontage_request_duration_seconds histogram\n"));
  EXPECT_THAT(text, HasSubstr("pontage_request_duration_seconds_count{route=\"r\"} 3\n"));
  for (const char* const line : {"5e-05\"} 1", "0.0001\"} 1", "0.00025\"} 1", "0.0005\"} 2", "0.001\"} 2",
                                 "0.0025\"} 2", "0.005\"} 2", "0.01\"} 2", "0.025\"} 2", "0.05\"} 2", "0.1\"} 2",
                                 "0.25\"} 2", "0.5\"} 2", "1\"} 2", "2.5\"} 2", "5\"} 2", "10\"} 2", "+Inf\"} 3"}) {
    EXPECT_THAT(text,
                HasSubstr("pontage_request_duration_seconds_bucket{route=\"r\",le=\"" + std::string(line) + "\n"));
  }
  EXPECT_THAT(text, HasSubstr("pontage_build_info{version=\"1.2.3\","));
  for (const char* const name :
       {"cpu_seconds_total", "open_fds", "max_fds", "resident_memory_bytes", "start_time_seconds"}) {
    EXPECT_THAT(text, HasSubstr("\nprocess_" + std::string(name) + " "));
    EXPECT_THAT(text, Not(HasSubstr("\nprocess_" + std::string(name) + " 0\n")));
  }
  EXPECT_THAT(text, Not(HasSubstr("backend_server_up")));
}

}  // namespace
}  // namespace pontage::observe
