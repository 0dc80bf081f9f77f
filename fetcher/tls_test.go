package fetcher

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// selfSigned returns a certificate for names, valid in the given period, and a pool that trusts it.
func selfSigned(t testing.TB, from, to time.Time, names ...string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	pattern := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: from, NotAfter: to, DNSNames: names,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, pattern, pattern, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func serveCert(t testing.TB, cert tls.Certificate, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	s.Config.ErrorLog = silent()
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func TestCertificatesAreVerified(t *testing.T) {
	now := time.Now()
	here := hosts{"a.test": {netip.MustParseAddr("127.0.0.1")}, "b.test": {netip.MustParseAddr("127.0.0.1")}}
	good, trust := selfSigned(t, now.Add(-time.Hour), now.Add(time.Hour), "a.test")
	old, trustOld := selfSigned(t, now.Add(-2*time.Hour), now.Add(-time.Hour), "a.test")
	var asked atomic.Int32
	handler := func(w http.ResponseWriter, r *http.Request) { asked.Add(1) }
	port := func(s *httptest.Server) string { _, p, _ := net.SplitHostPort(s.Listener.Addr().String()); return p }
	gs, os := port(serveCert(t, good, handler)), port(serveCert(t, old, handler))
	plain := port(serve(t, handler))
	for _, tc := range []struct {
		name, url string
		roots     *x509.CertPool
		reason    string
	}{
		{"trusted", "https://a.test:" + gs, trust, ""},
		{"unknown issuer", "https://a.test:" + gs, nil, ReasonTLSAuthority},
		{"other name", "https://b.test:" + gs, trust, ReasonTLSHostname},
		{"address instead of name", "https://127.0.0.1:" + gs, trust, ReasonTLSHostname},
		{"expired", "https://a.test:" + os, trustOld, ReasonTLSExpired},
		{"no TLS there", "https://a.test:" + plain, trust, reasonTLSFailed},
	} {
		asked.Store(0)
		r := newRig(t, Config{RootCAs: tc.roots, Resolver: here})
		if tc.reason == "" {
			if p := r.page(tc.url); p.Insecure {
				t.Error(tc.name, "marked insecure")
			}
			continue
		}
		if e := r.wantReason(tc.url, phaseTLS, tc.reason); e.Temporary() || !e.Written.IsZero() {
			t.Errorf("%s: %+v", tc.name, e)
		}
		if asked.Load() != 0 {
			t.Error(tc.name, "a request was sent all the same")
		}
	}
	r := newRig(t, Config{Resolver: here, InsecureHosts: []string{"b.test"}})
	if p := r.page("https://b.test:" + gs); !p.Insecure {
		t.Error("an unverified page is not marked")
	}
	r.wantReason("https://a.test:"+gs, phaseTLS, ReasonTLSAuthority)
}

func TestServerThatHangsUpInTheHandshake(t *testing.T) {
	url := raw(t, func(c net.Conn) { c.Read(make([]byte, 1)) })
	if e := newRig(t, Config{}).wantReason(strings.Replace(url, "http:", "https:", 1), phaseTLS, reasonReset); !e.Temporary() {
		t.Fatal("not temporary")
	}
}

// Names with the same address and port each get their own connection and SNI.
func TestNamesOnOneAddressDoNotShareConnections(t *testing.T) {
	now := time.Now()
	cert, trust := selfSigned(t, now.Add(-time.Hour), now.Add(time.Hour), "a.test", "b.test")
	for _, protocols := range [][]string{{"http/1.1"}, {"h2"}} {
		var mu sync.Mutex
		var asked []string
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.TLS.ServerName+" "+r.Proto) }))
		s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: protocols, GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, h.ServerName)
			return nil, nil
		}}
		s.EnableHTTP2 = protocols[0] == "h2"
		s.StartTLS()
		t.Cleanup(s.Close)
		_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
		r := newRig(t, Config{RootCAs: trust, Resolver: hosts{"a.test": addrs("127.0.0.1"), "b.test": addrs("127.0.0.1")}})
		for _, name := range []string{"a.test", "b.test", "a.test", "b.test"} {
			if p := r.page("https://" + name + ":" + port); !strings.HasPrefix(string(p.Body), name) {
				t.Fatalf("%s answered as %s", name, p.Body)
			}
		}
		mu.Lock()
		if len(asked) != 2 || asked[0] != "a.test" || asked[1] != "b.test" {
			t.Fatalf("handshakes: %q", asked)
		}
		mu.Unlock()
	}
}
