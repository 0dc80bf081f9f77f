package long

import "testing"

func TestN(t *testing.T) {
	for value, want := range map[string]int{"": 2, "0": 2, "1": 7} {
		t.Setenv(variable, value)
		if n := N(2, 7); n != want {
			t.Errorf("%s=%s: %d, want %d", variable, value, n, want)
		}
	}
}
