package nats

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/amble-crawler/amble/internal/safefile"
)

// Access configures the authentication of clients and servers to each other. Secrets are in files, so that command lines contain none.
type Access struct {
	// Creds is a file with NATS credentials (a JWT and its key), or with a single line: a token or "user:password". The file is refused if
	// others than its owner can read it, except a file of root for a process of another user: that user's group may read it.
	Creds string
	// CA is a file with the certificates (PEM) of the authorities for the servers' certificates. "": those of the system.
	CA string
	// Cert and Key are files with a client certificate and its key, for servers that require one.
	Cert, Key string
}

// Secret returns the contents of Creds if the file has a token, or a user and a password.
func (a Access) Secret() (user, password, token string, err error) {
	if a.Creds == "" {
		return "", "", "", nil
	}
	text, err := a.read()
	if err != nil || isJWT(text) {
		return "", "", "", err
	}
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsAny(text, "\r\n") {
		return "", "", "", fmt.Errorf("%s: want NATS credentials, or one line with a token or user:password", a.Creds)
	}
	if user, password, ok := strings.Cut(text, ":"); ok {
		return user, password, "", nil
	}
	return "", "", text, nil
}

func (a Access) read() (string, error) {
	b, err := safefile.ReadSecret(a.Creds, safefile.Token)
	return string(b), err
}

func isJWT(text string) bool { return strings.Contains(text, "BEGIN NATS USER JWT") }

// Options returns the options of a connection. The error names the file that is not usable.
func (a Access) Options() (all []nats.Option, err error) {
	user, password, token, err := a.Secret()
	switch {
	case err != nil:
		return nil, err
	case token != "":
		all = append(all, nats.Token(token))
	case user != "":
		all = append(all, nats.UserInfo(user, password))
	case a.Creds != "":
		all = append(all, nats.UserCredentials(a.Creds))
	}
	if a.CA == "" && a.Cert == "" && a.Key == "" {
		return all, nil
	}
	c, err := a.TLS()
	return append(all, nats.Secure(c)), err
}

// TLS returns the TLS configuration of connections. The error names the file that is not usable.
func (a Access) TLS() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if a.CA != "" {
		b, err := safefile.ReadNamed(a.CA, safefile.Settings)
		if err != nil {
			return nil, err
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(b) {
			return nil, fmt.Errorf("%s has no certificate in PEM form", a.CA)
		}
	}
	if (a.Cert == "") != (a.Key == "") {
		return nil, errors.New("a certificate and its key belong together: give both files")
	}
	if a.Cert != "" {
		pair, err := tls.LoadX509KeyPair(a.Cert, a.Key)
		if err != nil {
			return nil, fmt.Errorf("%s and %s: %w", a.Cert, a.Key, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
