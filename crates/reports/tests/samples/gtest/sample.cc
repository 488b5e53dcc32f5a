#include <gtest/gtest.h>

TEST(Group, Passes) {}

TEST(Group, Fails) {
  EXPECT_EQ(1, 2) << "expected <a> & <b>\n  got: \x1b[31mred\x1b[0m übel ✗ 日本";
  EXPECT_TRUE(false) << "and a second failure";
}

TEST(Group, IsSkipped) { GTEST_SKIP() << "not today & not <now>"; }

TEST(Group, DISABLED_IsDisabled) { FAIL(); }

class Values : public testing::TestWithParam<int> {};
TEST_P(Values, AreSmall) { EXPECT_LT(GetParam(), 2); }
INSTANTIATE_TEST_SUITE_P(Few, Values, testing::Values(1, 2));
