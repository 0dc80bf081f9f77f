//go:build unix

package disk

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Foreign files in a crawl's directory neither redirect a write nor block Open.
func TestOpenFollowsNoLinks(t *testing.T) {
	const text = "a file of somebody else"
	for _, name := range []string{"LOCK", "AMBLE", "AMBLE.new", "000001.log", "MANIFEST-000001", "marker.manifest.000001.MANIFEST-000001"} {
		for kind, plant := range map[string]func(victim, path string) error{
			"link": os.Symlink,
			"pipe": func(_, path string) error { return syscall.Mkfifo(path, 0o644) },
		} {
			dir := t.TempDir()
			s, err := Open(dir, Config{})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			victim := filepath.Join(t.TempDir(), "victim")
			if err := os.WriteFile(victim, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, name)
			os.Remove(path)
			if err := plant(victim, path); err != nil {
				t.Fatal(err)
			}
			if s, err := Open(dir, Config{}); !errors.Is(err, ErrForeign) {
				t.Errorf("%s is a %s: %v", name, kind, err)
				if err == nil {
					s.Close()
				}
			}
			if b, err := os.ReadFile(victim); err != nil || string(b) != text {
				t.Errorf("through %s somebody else's file became %q, %v", name, b, err)
			}
		}
	}
}
