@test "passes" {
  true
}

@test "fails & <loses>" {
  printf 'expected <a> & <b>\n  got: \033[31mred\033[0m übel ✗ 日本\n'
  [ 1 -eq 2 ]
}

@test "is skipped" {
  skip "not today & not <now>"
}
