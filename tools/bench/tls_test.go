package bench

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"strings"
	"time"
)

// certify makes a certificate for the addresses of all hosts.
func (v *server) certify() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	now := time.Now()
	t := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	for _, h := range v.hosts {
		host, _, _ := net.SplitHostPort(h) // valid, because h is the address of a listener
		t.IPAddresses = append(t.IPAddresses, net.ParseIP(host))
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, &key.PublicKey, key)
	if err != nil {
		return err
	}
	v.roots = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	v.tls = &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		VerifyConnection: func(s tls.ConnectionState) error {
			if s.DidResume {
				v.counts.Resumed.Add(1)
			}
			return nil
		},
	}
	return nil
}

// serveHTTP2 answers the requests to a host over HTTP/2.
func (v *server) serveHTTP2(h int, l net.Listener) {
	srv := &http.Server{
		TLSConfig: v.tls.Clone(), Handler: v.handler(h), ReadHeaderTimeout: time.Minute,
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			v.counts.Connections.Add(1)
			return ctx
		},
	}
	_ = srv.ServeTLS(l, "", "") // until the process ends
}

// handler returns a handler that gives the same responses as choose, converted from the text form of HTTP/1.1.
func (v *server) handler(h int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, ok := v.answers[h][r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		head, body, _ := bytes.Cut(a.gzip, []byte("\r\n\r\n"))
		for _, line := range strings.Split(string(head), "\r\n")[1:] {
			name, value, _ := strings.Cut(line, ": ")
			w.Header().Set(name, value)
		}
		_, _ = w.Write(body) // an error means that the client has gone away
	})
}
