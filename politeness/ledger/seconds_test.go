package ledger

import (
	"testing"

	"pgregory.net/rapid"
)

// TestShortSeconds compares the hand-written parser with strconv.
func TestShortSeconds(t *testing.T) {
	check := func(t interface{ Fatalf(string, ...any) }, text string) {
		d, ok := short([]byte(text))
		if want, err := float(text); ok && (err != nil || d != want) {
			t.Fatalf("%q is %d, want %d, %v", text, d, want, err)
		}
	}
	for _, text := range []string{"", ".", "0", "1.", ".1", "1.5", "0.000000001", "0.0000000001", "999999.999999999", "123456789", "1e3", "-1", "+1", "0x1p3", "Inf", "nan", "1_0"} {
		check(t, text)
	}
	if d, ok := short([]byte("0.123456789")); !ok || d != 123456789 {
		t.Error(d, ok)
	}
	rapid.Check(t, func(t *rapid.T) { check(t, rapid.StringMatching(`[0-9]{0,9}(\.[0-9]{0,11})?`).Draw(t, "text")) })
}
