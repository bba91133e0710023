// TicketKeys: what was sealed opens as long as a session lives, and no longer.
#include "src/net/tls_tickets.h"

#include <gtest/gtest.h>

namespace pontage::net {
namespace {

TEST(TicketKeys, ChangeAsTheyAgeAndOpenWhatTheySealedForASessionsLife) {
  TicketKeys keys(1000);
  const auto first = keys.sealing(0);
  EXPECT_EQ(keys.sealing(400).name, first.name);
  EXPECT_NE(keys.sealing(600).name, first.name);
  TicketKeys::Key found;
  bool newest = true;
  ASSERT_TRUE(keys.opening(first.name.data(), 1000, found, newest));
  EXPECT_EQ(found.aes, first.aes);
  EXPECT_FALSE(newest) << "the client gets a ticket of the newest key";
  keys.sealing(1200);
  keys.sealing(1800);
  EXPECT_FALSE(keys.opening(first.name.data(), 1800, found, newest));
}

TEST(TicketKeys, ForgetWhatIsTooOldAfterALongSilence) {
  TicketKeys keys(1000);
  const auto first = keys.sealing(0);
  TicketKeys::Key found;
  bool newest = true;
  EXPECT_FALSE(keys.opening(first.name.data(), 100'000, found, newest));
}

}  // namespace
}  // namespace pontage::net
