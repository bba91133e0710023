// Which answers are compressed, and what becomes of their heads.
#include <gtest/gtest.h>

#include "src/handlers/compress_body.h"
#include "tests/unit/handlers_compress/bench.h"

namespace pontage::handlers {
namespace {

using namespace testing;
using message::BodyFraming;
using message::BodyKind;
using message::ContentCoding;
using message::Method;
using pontage::testing::words;

const std::string kText = words(5000);

Script with(Fields more, std::string text = kText) {
  Script script = page(std::move(text));
  for (auto& field : more) script.fields.push_back(std::move(field));
  return script;
}
Script of_type(std::string type) {
  Script script = page(kText);
  script.fields = {{"content-type", std::move(type)}};
  return script;
}
void expect_untouched(const Answer& answer, const std::string& text = kText) {
  EXPECT_FALSE(answer.compressed());
  EXPECT_EQ(answer.framing, (BodyFraming{BodyKind::exact, text.size()}));
  EXPECT_EQ(answer.bytes(), text);
}

TEST(CompressRules, ATextIsCompressedForWhoeverAsks) {
  Bench bench;
  for (const auto* coding : {"gzip", "br", "zstd"}) {
    const Answer answer = bench.ask_for(coding, page(kText));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer["Content-Encoding"], coding);
    EXPECT_EQ(answer["Vary"], "Accept-Encoding");
    EXPECT_EQ(answer["Content-Type"], "text/html; charset=utf-8");
    EXPECT_EQ(answer.framing, (BodyFraming{BodyKind::chunked, 0}));
    EXPECT_LT(answer.bytes().size(), kText.size() / 2);
    EXPECT_TRUE(answer.decoded().ended);
    EXPECT_EQ(answer.decoded().text, kText);
    EXPECT_EQ(answer.batches.size(), 1U) << "a small body comes with its end in the first pull";
  }
  EXPECT_EQ(bench.ask_for("gzip, br;q=0.9, zstd;q=0.1", page(kText))["Content-Encoding"], "gzip");
  EXPECT_EQ(bench.ask_for("gzip, br, zstd", page(kText))["Content-Encoding"], "zstd");
}

TEST(CompressRules, PastTheMemoryLimitBodiesAreSentAsTheyAre) {
  Bench bench;
  {
    const auto all_but_a_little = EncoderShare::take(EncoderShare::kLimit - 1000);
    ASSERT_TRUE(all_but_a_little);
    const Answer answer = bench.ask_for("gzip", page(kText));
    expect_untouched(answer);
    EXPECT_EQ(answer["Vary"], "Accept-Encoding");
  }
  EXPECT_TRUE(bench.ask_for("gzip", page(kText)).compressed()) << "what was taken came back";
  EXPECT_TRUE(EncoderShare::take(EncoderShare::kLimit)) << "and so did what the body used";
}

TEST(CompressRules, WithoutAnAcceptableCodingTheBodyStaysAndVaries) {
  Bench bench;
  for (const auto* wish : {"", "identity", "deflate", "gzip;q=0", "*;q=0"}) {
    const Answer answer = bench.ask_for(wish, page(kText));
    expect_untouched(answer);
    EXPECT_EQ(answer["Vary"], "Accept-Encoding") << wish;
  }
  bench.request.clear();
  expect_untouched(bench.ask(page(kText)));
}

TEST(CompressRules, OnlyTheConfiguredCodingsAreUsed) {
  config::Compression rules;
  rules.codings = {ContentCoding::gzip};
  Bench bench(rules);
  EXPECT_EQ(bench.ask_for("br, zstd, gzip;q=0.1", page(kText))["Content-Encoding"], "gzip");
  expect_untouched(bench.ask_for("br, zstd", page(kText)));
}

TEST(CompressRules, OtherTypesPassUntouchedWithoutVary) {
  Bench bench;
  for (const auto* type :
       {"image/png", "application/octet-stream", "video/mp4", "", "text", "textual/x", "font/woff2"}) {
    Script script = of_type(type);
    script.prepared = "Content-Type: x\r\n";
    const Answer answer = bench.ask(script);
    expect_untouched(answer);
    EXPECT_EQ(answer["Vary"], "") << type;
    EXPECT_EQ(answer.prepared, script.prepared) << type;
  }
  Script script = page(kText);
  script.fields.clear();
  expect_untouched(bench.ask(script));
}

TEST(CompressRules, TypesMatchInAnyCaseWithAnyParameters) {
  Bench bench;
  for (const auto* type : {"TEXT/HTML", "text/x-anything", "Application/JSON ; charset=utf-8",
                           "image/svg+xml;a=\"b;c\"", "text/event-stream", "application/wasm"}) {
    EXPECT_TRUE(bench.ask(of_type(type)).compressed()) << type;
  }
  config::Compression rules = all_codings();
  rules.types = {"application/x-own"};
  Bench own(rules);
  EXPECT_TRUE(own.ask(of_type("application/x-own")).compressed());
  expect_untouched(own.ask(of_type("text/html")));
}

TEST(CompressRules, BodiesKnownToBeSmallStayButVary) {
  Bench bench;
  const std::string below = words(1023);
  const Answer answer = bench.ask(page(below));
  expect_untouched(answer, below);
  EXPECT_EQ(answer["Vary"], "Accept-Encoding") << "the same page may be longer tomorrow";
  EXPECT_TRUE(bench.ask(page(words(1024))).compressed());
  Script unknown;
  unknown.acts = {last("short")};
  const Answer counted_as_large = bench.ask(unknown);
  EXPECT_TRUE(counted_as_large.compressed());
  EXPECT_EQ(counted_as_large.decoded().text, "short");
  config::Compression rules = all_codings();
  rules.min_size = 0;
  Bench everything(rules);
  EXPECT_TRUE(everything.ask(page("x")).compressed());
  Script empty = page("");
  EXPECT_FALSE(everything.ask(empty).compressed());
  empty.body = false;
  EXPECT_FALSE(everything.ask(empty).compressed());
}

TEST(CompressRules, AnyMethodAndEveryStatusWithAWholeBodyCount) {
  Bench bench;
  for (const auto method : {Method::get, Method::post, Method::put, Method::options, Method::report, Method::other}) {
    bench.method = method;
    EXPECT_TRUE(bench.ask(page(kText)).compressed());
  }
  for (const int status : {200, 201, 203, 207, 300, 403, 404, 410, 500, 503}) {
    Script script = page(kText);
    script.status = status;
    EXPECT_TRUE(bench.ask(script).compressed()) << status;
  }
}

TEST(CompressRules, PartsAreNeverCompressed) {
  Bench bench;
  Script partial = with({{"Content-Range", "bytes 0-4999/9000"}, {"ETag", "\"v1\""}, {"Accept-Ranges", "bytes"}});
  partial.status = 206;
  const Answer answer = bench.ask(partial);
  expect_untouched(answer);
  EXPECT_EQ(answer["ETag"], "\"v1\"");
  EXPECT_EQ(answer["Accept-Ranges"], "bytes");
  EXPECT_EQ(answer["Vary"], "Accept-Encoding") << "as the whole would say (RFC 9110 15.3.7)";
  Script multipart = page(kText);
  multipart.status = 206;
  expect_untouched(bench.ask(multipart));
  Script range_without_206 = with({{"Content-Range", "bytes */9000"}});
  range_without_206.status = 416;
  expect_untouched(bench.ask(range_without_206));
}

TEST(CompressRules, AnswersWithoutABodyStayWithoutOne) {
  Bench bench;
  for (const int status : {204, 205, 304, 200, 302}) {
    Script script;
    script.status = status;
    script.body = false;
    script.framing = {};
    const Answer answer = bench.ask(script);
    EXPECT_FALSE(answer.compressed()) << status;
    EXPECT_FALSE(answer.has_body) << status;
    EXPECT_EQ(answer.framing, BodyFraming{}) << status;
  }
}

TEST(CompressRules, WhatIsEncodedAlreadyStaysAsItIs) {
  Bench bench;
  for (const auto* coding : {"gzip", "br", "x-own", "identity, gzip"}) {
    const Answer answer = bench.ask(with({{"Content-Encoding", coding}, {"ETag", "\"v1\""}}));
    EXPECT_EQ(answer["Content-Encoding"], coding);
    EXPECT_EQ(answer["ETag"], "\"v1\"");
    EXPECT_EQ(answer.bytes(), kText);
    EXPECT_EQ(answer["Vary"], "Accept-Encoding");
  }
  for (const auto* none : {"identity", "Identity", ""}) {
    EXPECT_EQ(bench.ask(with({{"Content-Encoding", none}}))["Content-Encoding"], "gzip") << none;
  }
}

TEST(CompressRules, NoTransformInTheAnswerIsObeyed) {
  Bench bench;
  for (const auto* value : {"no-transform", "public, No-Transform", "max-age=3,no-transform"}) {
    Script script = with({{"Cache-Control", value}});
    script.prepared = "x";
    const Answer answer = bench.ask(script);
    expect_untouched(answer);
    EXPECT_EQ(answer["Vary"], "");
    EXPECT_EQ(answer.prepared, "x");
  }
  expect_untouched(bench.ask(with({{"Cache-Control", "public"}, {"Cache-Control", "no-transform"}})));
  EXPECT_TRUE(bench.ask(with({{"Cache-Control", "no-cache, x=\"no-transform\""}})).compressed());
}

TEST(CompressRules, NoTransformInTheRequestIsObeyed) {
  Bench bench;
  bench.request = {{"Accept-Encoding", "gzip"}, {"Cache-Control", "no-cache, no-transform"}};
  const Answer answer = bench.ask(page(kText));
  expect_untouched(answer);
  EXPECT_EQ(answer["Vary"], "Accept-Encoding");
}

TEST(CompressRules, VaryIsMergedAndNotDoubled) {
  Bench bench;
  EXPECT_EQ(bench.ask(with({{"Vary", "Cookie"}}))["Vary"], "Cookie, Accept-Encoding");
  EXPECT_EQ(bench.ask(with({{"Vary", "Cookie"}, {"Vary", "Origin"}}))["Vary"], "Cookie, Accept-Encoding | Origin");
  EXPECT_EQ(bench.ask(with({{"Vary", "Cookie"}, {"Vary", "accept-encoding"}}))["Vary"], "Cookie | accept-encoding");
  EXPECT_EQ(bench.ask(with({{"Vary", "Origin,Accept-Encoding"}}))["Vary"], "Origin,Accept-Encoding");
  EXPECT_EQ(bench.ask(with({{"Vary", "*"}}))["Vary"], "*");
  EXPECT_EQ(bench.ask(with({{"Vary", "X-Accept-Encoding"}}))["Vary"], "X-Accept-Encoding, Accept-Encoding");
  EXPECT_EQ(bench.ask(with({{"Vary", ""}}))["Vary"], "Accept-Encoding");
}

TEST(CompressRules, AStrongETagBecomesWeakOnlyWhenCompressed) {
  Bench bench;
  EXPECT_EQ(bench.ask(with({{"ETag", "\"v1\""}}))["ETag"], "W/\"v1\"");
  EXPECT_EQ(bench.ask(with({{"ETag", "W/\"v1\""}}))["ETag"], "W/\"v1\"");
  EXPECT_EQ(bench.ask_for("identity", with({{"ETag", "\"v1\""}}))["ETag"], "\"v1\"");
}

TEST(CompressRules, WhatWasTrueOfTheOriginalBytesGoes) {
  Bench bench;
  const Fields fields{{"Accept-Ranges", "bytes"}, {"content-md5", "a=="},        {"Digest", "sha-256=b"},
                      {"Repr-Digest", "c"},       {"CONTENT-DIGEST", "d"},       {"X-Digest", "stays"},
                      {"Set-Cookie", "a=b"},      {"Last-Modified", "yesterday"}};
  Answer answer = bench.ask(with(fields));
  for (const auto* gone :
       {"Accept-Ranges", "Content-MD5", "Digest", "Repr-Digest", "Content-Digest", "Content-Length"}) {
    EXPECT_EQ(answer[gone], "") << gone;
  }
  EXPECT_EQ(answer["X-Digest"], "stays");
  EXPECT_EQ(answer["Set-Cookie"], "a=b");
  EXPECT_EQ(answer["Last-Modified"], "yesterday");
  answer = bench.ask_for("identity", with(fields));
  for (const auto& [name, value] : fields) EXPECT_EQ(answer[name], value);
}

TEST(CompressRules, AnEditedHeadIsNoLongerThePreparedOne) {
  Bench bench;
  Script script = page(kText);
  script.prepared = "Content-Type: text/html\r\nContent-Length: 5000\r\n";
  EXPECT_EQ(bench.ask(script).prepared, "");
  EXPECT_EQ(bench.ask_for("identity", script).prepared, "") << "Vary was added";
  script.fields.push_back({"Vary", "Accept-Encoding"});
  EXPECT_EQ(bench.ask_for("identity", script).prepared, script.prepared);
  EXPECT_EQ(bench.ask_for("gzip", script).prepared, "");
}

TEST(CompressRules, HeadHasTheHeadThatGetWouldHave) {
  Bench bench;
  const Fields fields{{"ETag", "\"v1\""}, {"Accept-Ranges", "bytes"}};
  Answer got = bench.ask(with(fields));
  bench.method = Method::head;
  Script script = with(fields);
  script.body = false;
  Answer head = bench.ask(script);
  EXPECT_EQ(head.fields, got.fields);
  EXPECT_EQ(head.framing, BodyFraming{}) << "no length";
  EXPECT_FALSE(head.has_body);
  EXPECT_EQ(head["Content-Encoding"], "gzip");

  // As a server's answer comes: with its length among the fields, and a source that is only dropped.
  Script proxied = with(fields);
  proxied.framing = {};
  proxied.fields.push_back({"Content-Length", "5000"});
  head = bench.ask(proxied);
  EXPECT_EQ(head.fields, got.fields);
  EXPECT_EQ(bench.inner->body->drops, 1U);
  EXPECT_EQ(bench.inner->body->pulls, 0U);
  proxied.fields.back().second = "100";
  head = bench.ask(proxied);
  EXPECT_EQ(head["Content-Encoding"], "") << "GET would not be compressed";
  EXPECT_EQ(head["Content-Length"], "100");
  EXPECT_EQ(head["Vary"], "Accept-Encoding");
}

TEST(CompressRules, A304AnswersAWeakQuestionWeakly) {
  Bench bench;
  Script script;
  script.status = 304;
  script.fields = {{"ETag", "\"v1\""}};
  script.framing = {};
  script.body = false;
  script.prepared = "ETag: \"v1\"\r\n";
  for (const auto* asked : {"W/\"v1\"", "\"v0\", W/\"v1\"", "W/\"v0\",W/\"v1\",\"x\""}) {
    bench.request = {{"If-None-Match", asked}};
    const Answer answer = bench.ask(script);
    EXPECT_EQ(answer["ETag"], "W/\"v1\"") << asked;
    EXPECT_EQ(answer["Vary"], "Accept-Encoding") << asked;
    EXPECT_EQ(answer.prepared, "");
  }
  for (const auto* asked : {"\"v1\"", "*", "W/\"v2\"", "W/\"v11\"", ""}) {
    bench.request = {{"If-None-Match", asked}};
    const Answer answer = bench.ask(script);
    EXPECT_EQ(answer["ETag"], "\"v1\"") << asked;
    EXPECT_EQ(answer["Vary"], "") << asked;
    EXPECT_EQ(answer.prepared, script.prepared);
  }
  bench.request.clear();
  script.fields.push_back({"Content-Type", "text/css"});
  EXPECT_EQ(bench.ask(script)["Vary"], "Accept-Encoding") << "the type is known";
}

TEST(CompressRules, ErrorsOfTheInnerHandlerPass) {
  Bench bench;
  bench.inner->error = util::Error{.kind = util::ErrorKind::no_server, .source = util::Source::server};
  const Answer answer = bench.ask({});
  ASSERT_TRUE(answer.error);
  EXPECT_EQ(answer.error->kind, util::ErrorKind::no_server);
}

}  // namespace
}  // namespace pontage::handlers
