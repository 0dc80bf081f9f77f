package weburl

// MarshalText implements encoding.TextMarshaler: [URL.String], empty for the zero URL.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.href), nil }

// UnmarshalText implements encoding.TextUnmarshaler, as [Parse]; empty text is the zero URL. On error u is
// unchanged.
func (u *URL) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*u = URL{}
		return nil
	}
	v, err := Parse(string(b))
	if err == nil {
		*u = v
	}
	return err
}
