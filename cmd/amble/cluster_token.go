package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/amble-crawler/amble/internal/safefile"
)

// tokenName is the name, in a server's directory, of the file with the token that the server has generated.
const tokenName = "token"

// makeToken returns the path of the file with a server's token, and creates the file if it does not exist.
func makeToken(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, tokenName)
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return path, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(rand.Text() + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(path))
	}
	return path, nil
}

// tokenNote returns the path of a file that records where the token file of a local server is, by the server's address; "" if this user has
// no directory for it.
func tokenNote(address string) string {
	host, port, err := net.SplitHostPort(address)
	config, none := os.UserConfigDir()
	if err != nil || port == "0" || none != nil || !filepath.IsAbs(config) {
		return ""
	}
	switch host {
	case "localhost", "", "0.0.0.0", "::":
		host = "127.0.0.1"
	}
	return filepath.Join(config, "amble", "cluster", strings.NewReplacer(":", "_", "%", "_", "/", "_").Replace(host)+"_"+port)
}

// noteToken records the server's token file, so that commands of this user find it. undo removes the record.
func noteToken(address, token string) (undo func(), err error) {
	note := tokenNote(address)
	if note == "" {
		return func() {}, nil
	}
	before, found := safefile.Read(note, safefile.Token)
	if err := os.MkdirAll(filepath.Dir(note), 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(note, []byte(token+"\n"), 0o600); err != nil {
		return nil, err
	}
	return func() {
		if found == nil {
			_ = os.WriteFile(note, before, 0o600) // restore the note of another server with this address
			return
		}
		_ = os.Remove(note) // a stale note is harmless
	}, nil
}

// findToken returns the recorded token file of the first server in the list that has one, "" if none has.
func findToken(servers string) string {
	for at := range strings.SplitSeq(servers, ",") {
		u, err := url.Parse(strings.TrimSpace(at))
		if err != nil || u.Port() == "" {
			continue
		}
		note := tokenNote(u.Host)
		if note == "" {
			continue
		}
		f, err := safefile.OpenOwn(note)
		if err != nil {
			continue
		}
		b, err := safefile.ReadAll(f, note, safefile.Token)
		_ = f.Close() // opened only for reading
		if path := strings.TrimSpace(string(b)); err == nil && filepath.IsAbs(path) {
			return path
		}
	}
	return ""
}

// errOpen returns the error for a server that anyone could use; why is the beginning of its text.
func errOpen(why string) error {
	return fmt.Errorf("%s: give --cluster-creds FILE, with the same line for all of them, or --insecure to admit anyone who can reach the address", why)
}
