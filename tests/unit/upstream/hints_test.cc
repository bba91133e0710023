// Hints: one sentence for each symptom, told rarely; what shows which symptom.
#include "src/upstream/hints.h"

#include <cerrno>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pontage::upstream {
namespace {

using util::Error;
using util::ErrorKind;
using util::Source;

std::vector<Symptom> all() {
  std::vector<Symptom> symptoms;
  for (std::size_t i = 0; i < kSymptoms; ++i) symptoms.push_back(static_cast<Symptom>(i));
  return symptoms;
}

TEST(Hints, EverySymptomHasAName) {
  std::set<std::string_view> names;
  for (const Symptom symptom : all()) {
    const Hint& hint = hint_for(symptom);
    EXPECT_FALSE(hint.says.empty()) << static_cast<int>(symptom);
    EXPECT_TRUE(names.insert(hint.name).second) << hint.name;
  }
  EXPECT_EQ(hint_for(Symptom::unresolved).name, "unresolved");
  EXPECT_EQ(hint_for(Symptom::speaks_uwsgi).name, "speaks_uwsgi");
  EXPECT_EQ(hint_for(Symptom::packet_overflow).name, "packet_overflow");
  EXPECT_EQ(hint_for(Symptom::pool_larger).name, "pool_larger") << "the table is in the order of the symptoms";
}

TEST(Hints, EverySentenceNamesWhatToDo) {
  for (const Symptom symptom : all()) {
    const std::string text = sentence(symptom, "DETAIL");
    const std::string remedy(hint_for(symptom).remedy);
    EXPECT_FALSE(remedy.empty()) << hint_for(symptom).name;
    EXPECT_EQ(text.find("{}"), std::string::npos) << text;
    EXPECT_NE(text.find("; "), std::string::npos) << text;
    EXPECT_FALSE(text.ends_with('.')) << text;
  }
}

TEST(Hints, ASentenceIsAboutItsDetail) {
  EXPECT_EQ(sentence(Symptom::speaks_http, "AJP"),
            "it speaks HTTP, not AJP; write `http://` in `url`, or give the port where it speaks AJP");
}

Error connecting(int os_error) {
  return {.kind = ErrorKind::refused, .source = Source::server, .os_error = os_error};
}

TEST(Hints, AConnectionThatDidNotComeAboutShowsWhy) {
  EXPECT_EQ(symptom_of_connect(connecting(ECONNREFUSED), false), Symptom::refused);
  EXPECT_EQ(symptom_of_connect(connecting(ECONNREFUSED), true), Symptom::socket_dead);
  EXPECT_EQ(symptom_of_connect(connecting(ENOENT), true), Symptom::socket_missing);
  EXPECT_EQ(symptom_of_connect(connecting(EACCES), true), Symptom::socket_forbidden);
  EXPECT_EQ(symptom_of_connect(connecting(EHOSTUNREACH), false), Symptom::no_route);
  EXPECT_EQ(symptom_of_connect(connecting(ENETUNREACH), false), Symptom::no_route);
  EXPECT_EQ(symptom_of_connect(connecting(ETIMEDOUT), false), Symptom::connect_timeout);
  EXPECT_EQ(symptom_of_connect({.kind = ErrorKind::timeout, .source = Source::server}, false),
            Symptom::connect_timeout);
  EXPECT_EQ(symptom_of_connect({.kind = ErrorKind::unresolved, .source = Source::server}, false), Symptom::unresolved);
  EXPECT_EQ(symptom_of_connect({.kind = ErrorKind::overload, .source = Source::gateway, .os_error = EAGAIN}, true),
            Symptom::backlog_full);
}

TEST(Hints, TheGatewaysOwnTroubleIsNoSymptomOfTheServer) {
  EXPECT_EQ(symptom_of_connect({.kind = ErrorKind::overload, .source = Source::gateway, .os_error = EMFILE}, false),
            std::nullopt);
  EXPECT_EQ(symptom_of_connect({.kind = ErrorKind::cancelled, .source = Source::client}, false), std::nullopt);
}

TEST(Hints, TheFirstBytesShowTheProtocol) {
  EXPECT_EQ(symptom_of_bytes("HTTP/1.1 400 Bad Request\r\n"), Symptom::speaks_http);
  EXPECT_EQ(symptom_of_bytes("HTTP/1.1"), Symptom::speaks_http);
  EXPECT_EQ(symptom_of_bytes("<!DOCTYP"), Symptom::speaks_http);
  EXPECT_EQ(symptom_of_bytes("<html><head>"), Symptom::speaks_http);
  EXPECT_EQ(symptom_of_bytes({"\x15\x03\x01\x00\x02\x02\x46", 7}), Symptom::speaks_tls);
  EXPECT_EQ(symptom_of_bytes({"AB\x00\x02\x05\x00", 6}), Symptom::speaks_ajp);
  EXPECT_EQ(symptom_of_bytes("HTT"), Symptom::garbled) << "three letters are too few";
  EXPECT_EQ(symptom_of_bytes("-ERR unknown command"), Symptom::garbled);
  EXPECT_EQ(symptom_of_bytes(""), Symptom::garbled);
}

TEST(Hints, ASymptomIsToldOnceAMinuteForEachServer) {
  Hints a("app", "a");
  Hints b("app", "b");
  EXPECT_TRUE(a.admit(Symptom::refused, 1000));
  EXPECT_FALSE(a.admit(Symptom::refused, 1001));
  EXPECT_FALSE(a.admit(Symptom::refused, 1000 + Hints::kQuietMs - 1));
  EXPECT_TRUE(a.admit(Symptom::secret_wrong, 1001)) << "another symptom";
  EXPECT_TRUE(b.admit(Symptom::refused, 1001)) << "another server";
  EXPECT_TRUE(a.admit(Symptom::refused, 1000 + Hints::kQuietMs));
}

TEST(Hints, AListenerHearsEverything) {
  Hints hints("app", "a");
  std::vector<std::string> heard;
  hints.listen([&](Symptom symptom, std::string_view detail) {
    heard.push_back(std::string(hint_for(symptom).name) + " " + std::string(detail));
  });
  hints.note(Symptom::refused, "x:1");
  hints.note(Symptom::refused, "x:1");
  hints.note(Symptom::no_cpong);
  EXPECT_EQ(heard, (std::vector<std::string>{"refused x:1", "refused x:1", "no_cpong "}));
}

TEST(IdleClosings, AClockOfTheServersIsCertainAtTheThirdTime) {
  IdleClosings closings;
  EXPECT_FALSE(closings.closed(10'000, 5000));
  EXPECT_FALSE(closings.closed(20'000, 5010));
  EXPECT_EQ(closings.closed(30'000, 4990), 4990U);
}

TEST(IdleClosings, ARestartClosesAllAtOnce) {
  IdleClosings closings;
  for (std::uint64_t age = 200; age < 20'000; age += 200) EXPECT_FALSE(closings.closed(50'000 + age / 2000, age));
}

TEST(IdleClosings, DifferentAgesAreNoClock) {
  IdleClosings closings;
  std::uint64_t now = 0;
  for (const std::uint64_t age : {500, 4000, 20'000, 700, 9000, 30'000})
    EXPECT_FALSE(closings.closed(now += 60'000, age));
}

TEST(IdleClosings, ServersThatCountRequestsCloseAtOnce) {
  IdleClosings closings;
  for (std::uint64_t i = 0; i < 10; ++i) EXPECT_FALSE(closings.closed(1000 * i, 3));
}

TEST(IdleClosings, WhatIsLongPastCountsNoMore) {
  IdleClosings closings;
  EXPECT_FALSE(closings.closed(1000, 5000));
  EXPECT_FALSE(closings.closed(20'000, 5000));
  EXPECT_FALSE(closings.closed(20'000 + 5001 + IdleClosings::kForgetMs, 5000));
}

TEST(Hints, AnIdleClockIsTold) {
  Hints hints("app", "a");
  std::vector<std::string> heard;
  hints.listen([&](Symptom symptom, std::string_view detail) { heard.push_back(sentence(symptom, detail)); });
  for (std::uint64_t i = 1; i <= 3; ++i) hints.note_idle_closing(10'000 * i, 1500);
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_NE(heard[0].find("idle for 1.5s;"), std::string::npos) << heard[0];
  EXPECT_NE(heard[0].find("`connections.idle_timeout`"), std::string::npos) << heard[0];
}

TEST(DurationText, IsShort) {
  EXPECT_EQ(duration_text(250), "250ms");
  EXPECT_EQ(duration_text(5000), "5s");
  EXPECT_EQ(duration_text(1520), "1.5s");
  EXPECT_EQ(duration_text(0), "0ms");
}

}  // namespace
}  // namespace pontage::upstream
