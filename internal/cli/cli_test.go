package cli

import "testing"

func TestValues(t *testing.T) {
	type value interface {
		UnmarshalText([]byte) error
		MarshalText() ([]byte, error)
	}
	for _, c := range []struct {
		v        value
		in, want string // an empty want means an error
	}{
		{new(Count), "3", "3"}, {new(Count), "0", "0"}, {new(Count), "none", "none"}, {new(Count), "-1", ""},
		{new(Count), "3.5", ""}, {new(Count), "99999999999", ""}, {new(Count), "", ""},
		{new(Number), "0.5", "0.5"}, {new(Number), "none", "none"}, {new(Number), "NaN", ""}, {new(Number), "Inf", ""}, {new(Number), "-1", ""},
		{new(Duration), "1m30s", "1m30s"}, {new(Duration), "2", "2s"}, {new(Duration), "0.25", "250ms"}, {new(Duration), "1h0m0s", "1h"},
		{new(Duration), "60s", "1m"}, {new(Duration), "0", "0s"}, {new(Duration), "none", "none"}, {new(Duration), "-1s", ""},
		{new(Duration), "1e300", ""}, {new(Duration), "NaN", ""}, {new(Duration), "soon", ""},
		{new(Size), "10MiB", "10MiB"}, {new(Size), "1024", "1KiB"}, {new(Size), "1.5 kB", "1500"}, {new(Size), "1500B", "1500"},
		{new(Size), "2GB", "2000000000"}, {new(Size), "none", "none"}, {new(Size), "-1", ""}, {new(Size), "1e30", ""}, {new(Size), "10XB", ""},
	} {
		err := c.v.UnmarshalText([]byte(c.in))
		if c.want == "" {
			if err == nil {
				t.Errorf("%T takes %q", c.v, c.in)
			}
			continue
		}
		if got, _ := c.v.MarshalText(); err != nil || string(got) != c.want {
			t.Errorf("%T %q is %s, %v; want %s", c.v, c.in, got, err, c.want)
		}
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain, with ü and 漢": "plain, with ü and 漢",
		"\x1b[2J":             `\x1b[2J`,
		"a\nb\tc":             `a\nb\tc`,
		"right\u202eleft":     `right\u202eleft`,
		"\xff":                `\ufffd`,
		"no\u00a0break space": `no\u00a0break space`,
	} {
		if got := Printable(in); got != want {
			t.Errorf("Printable(%q) is %q, want %q", in, got, want)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	known := []string{"max-pages", "max-depth", "delay"}
	for in, want := range map[string]string{
		"max_pages": "max-pages", "maxpages": "max-pages", "dleay": "delay", "Delay": "delay", "colour": "",
	} {
		if want != "" {
			want = " (did you mean " + want + "?)"
		}
		if got := DidYouMean(in, known); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}
