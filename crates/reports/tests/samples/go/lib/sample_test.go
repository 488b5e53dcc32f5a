package lib

import "testing"

func TestPasses(t *testing.T) {}

func TestFails(t *testing.T) {
	t.Errorf("expected <a> & <b>\n  got: \x1b[31mred\x1b[0m übel ✗ 日本")
}

func TestIsSkipped(t *testing.T) {
	t.Skip("not today & not <now>")
}

func TestParent(t *testing.T) {
	t.Run("one", func(t *testing.T) {})
	t.Run("two", func(t *testing.T) { t.Fatal("only this one") })
}
