//go:build unix

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestClusterTLS checks that a server with TLS accepts only clients that know the secret and show a certificate, and that a refused client
// is told which flags to check.
func TestClusterTLS(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server")
	}
	skipUnderRace(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{"creds": "user:s3cret\n", "wrong": "user:else\n"} {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	writeCertificates(t, dir)
	p := launch(t, "cluster", "serve", "--name", "s1", "--dir", at("engine"), "--listen", "127.0.0.1:0", "--cluster-creds", at("creds"),
		"--tls-cert", at("server.pem"), "--tls-key", at("server.key"), "--tls-ca", at("ca.pem"))
	url := ""
	until(t, "the server listens", func() bool {
		_, after, _ := strings.Cut(p.says.String(), "listens on ")
		url, _, _ = strings.Cut(after, ";")
		return url != ""
	})
	_, address, _ := strings.Cut(url, "://")
	shown := []string{"--cluster-cert", at("node.pem"), "--cluster-key", at("node.key")}
	for name, c := range map[string]struct {
		flags []string
		says  string // text of the error; "" if the client is accepted
	}{
		"all right":         {slices.Concat([]string{"--cluster-creds", at("creds"), "--cluster-ca", at("ca.pem")}, shown), ""},
		"no certificate":    {[]string{"--cluster-creds", at("creds"), "--cluster-ca", at("ca.pem")}, "check --cluster-ca, --cluster-cert"},
		"an unknown server": {slices.Concat([]string{"--cluster-creds", at("creds")}, shown), "check --cluster-ca, --cluster-cert"},
		"wrong credentials": {slices.Concat([]string{"--cluster-creds", at("wrong"), "--cluster-ca", at("ca.pem")}, shown), "check --cluster-creds"},
		"no credentials":    {slices.Concat([]string{"--cluster-ca", at("ca.pem")}, shown), "check --cluster-creds"},
	} {
		args := slices.Concat([]string{"cluster", "create", "--cluster", "tls://" + address, "--job", "j", "--shards", "2", "--replicas", "1"}, c.flags, []string{"http://127.0.0.1:1/"})
		x := launch(t, args...)
		if c.says == "" {
			x.ends(0)
			continue
		}
		x.ends(2)
		if !strings.Contains(x.says.String(), c.says) || strings.Contains(x.says.String(), "s3cret") {
			t.Errorf("%s: %s\nwant %q", name, x.says, c.says)
		}
	}
}

// writeCertificates writes ca.pem, and a certificate with its key for a server and a node.
func writeCertificates(t *testing.T, dir string) {
	t.Helper()
	write := func(name, kind string, b []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var ca *x509.Certificate
	var caKey *ecdsa.PrivateKey
	for i, name := range []string{"ca", "server", "node"} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		c := &x509.Certificate{
			SerialNumber: big.NewInt(int64(i) + 1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			IsCA: i == 0, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		}
		if i == 0 {
			ca, caKey = c, key
		}
		b, err := x509.CreateCertificate(rand.Reader, c, ca, &key.PublicKey, caKey)
		if err != nil {
			t.Fatal(err)
		}
		write(name+".pem", "CERTIFICATE", b)
		if b, err = x509.MarshalPKCS8PrivateKey(key); err != nil {
			t.Fatal(err)
		}
		write(name+".key", "PRIVATE KEY", b)
	}
}
