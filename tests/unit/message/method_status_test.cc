#include <gtest/gtest.h>

#include "protocols/message/method.h"
#include "protocols/message/status.h"

namespace pontage::message {
namespace {

TEST(Methods, GoThereAndBack) {
  for (int i = 1; i <= static_cast<int>(Method::connect); ++i) {
    const auto method = static_cast<Method>(i);
    EXPECT_FALSE(to_string(method).empty());
    EXPECT_EQ(parse_method(to_string(method)), method);
  }
  EXPECT_EQ(to_string(Method::other), "");
}

TEST(Methods, AreCaseSensitiveAndOtherwiseOther) {
  for (const auto* text : {"get", "Get", "QUERY", "", "GETT", "GE"})
    EXPECT_EQ(parse_method(text), Method::other) << text;
}

// The codes of the AJP packet (ADAPTERS A5) are this enum's values.
TEST(Methods, KeepTheOrderOfTheAjpCodes) {
  EXPECT_EQ(static_cast<int>(Method::options), 1);
  EXPECT_EQ(static_cast<int>(Method::search), 21);
  EXPECT_EQ(static_cast<int>(Method::mkactivity), 27);
}

TEST(Methods, OnlyIdempotentOnesMayBeSentAgain) {
  EXPECT_TRUE(is_safe(Method::get));
  EXPECT_TRUE(is_idempotent(Method::get));
  EXPECT_FALSE(is_safe(Method::put));
  EXPECT_TRUE(is_idempotent(Method::put));
  for (const auto method : {Method::post, Method::patch, Method::connect, Method::lock, Method::other}) {
    EXPECT_FALSE(is_idempotent(method));
  }
}

TEST(Methods, LabelsAreTheNineAndOther) {
  EXPECT_EQ(metric_label(Method::patch), "PATCH");
  EXPECT_EQ(metric_label(Method::propfind), "other");
  EXPECT_EQ(metric_label(Method::other), "other");
}

TEST(Statuses, HaveTheRegisteredPhrase) {
  EXPECT_EQ(reason_phrase(200), "OK");
  EXPECT_EQ(reason_phrase(100), "Continue");
  EXPECT_EQ(reason_phrase(413), "Content Too Large");
  EXPECT_EQ(reason_phrase(511), "Network Authentication Required");
  for (const int status : {0, 99, 299, 418, 512, 999, -1}) EXPECT_EQ(reason_phrase(status), "Unknown") << status;
}

TEST(Statuses, KnowWhichHaveNoBody) {
  for (const int status : {100, 103, 199, 204, 304}) EXPECT_TRUE(forbids_body(status)) << status;
  for (const int status : {200, 205, 206, 303, 404}) EXPECT_FALSE(forbids_body(status)) << status;
}

}  // namespace
}  // namespace pontage::message
