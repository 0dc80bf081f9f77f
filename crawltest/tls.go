package crawltest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net"
	"sync"
	"time"
)

// authority is the certificate authority of a Web. Its certificate is made when it is first needed.
type authority struct {
	mu     sync.Mutex
	key    *ecdsa.PrivateKey
	cert   *x509.Certificate
	serial int64
	leaves map[string]*tls.Certificate
}

// RootCAs returns the pool with which a client trusts the https sites of this Web.
func (w *Web) RootCAs() *x509.CertPool {
	pool, err := w.ca.pool(w.start)
	if err != nil {
		w.fatal("certificate authority: %v", err)
	}
	return pool
}

func (w *Web) tlsConfig() *tls.Config {
	return &tls.Config{GetCertificate: w.certificate, NextProtos: []string{"http/1.1"}}
}

// certificate returns a certificate for the requested name. It is invalid if the site is configured to have an invalid one.
func (w *Web) certificate(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
	host := h.ServerName
	if host == "" {
		host, _, _ = net.SplitHostPort(h.Conn.LocalAddr().String())
	}
	w.mu.Lock()
	var kind faultKind
	for _, s := range w.sites {
		if s.host == host && s.scheme == "https" {
			if f := s.fault(stageTLS, nil, nil); f != nil {
				kind = f.kind
			}
		}
	}
	w.mu.Unlock()
	until := w.start.AddDate(50, 0, 0)
	switch kind {
	case faultTLSAlert:
		return nil, errors.New("crawltest: no certificate")
	case faultWrongName:
		host = "wrong.invalid"
	case faultExpired:
		until = w.start.Add(-time.Minute)
	}
	return w.ca.certificate(host, w.start, until)
}

// pool returns the authority's own certificate as a pool.
func (a *authority) pool(now time.Time) (*x509.CertPool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.make(now); err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool, nil
}

// certificate returns the certificate of one host and caches it.
func (a *authority) certificate(host string, now, until time.Time) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.leaf(host, now, until)
}

// make creates the authority's own certificate. The caller holds a.mu.
func (a *authority) make(now time.Time) error {
	if a.cert != nil {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	t := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "crawltest"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(100, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, &key.PublicKey, key)
	if err != nil {
		return err
	}
	a.key, a.serial, a.leaves = key, 1, make(map[string]*tls.Certificate)
	a.cert, err = x509.ParseCertificate(der)
	return err
}

// leaf returns a cached certificate or creates one. The caller holds a.mu.
func (a *authority) leaf(host string, now, until time.Time) (*tls.Certificate, error) {
	if err := a.make(now); err != nil {
		return nil, err
	}
	id := host + " " + until.String()
	if c := a.leaves[id]; c != nil {
		return c, nil
	}
	a.serial++
	t := &x509.Certificate{
		SerialNumber: big.NewInt(a.serial), Subject: pkix.Name{CommonName: host},
		NotBefore: now.Add(-time.Hour), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		t.IPAddresses = []net.IP{ip}
	} else {
		t.DNSNames = []string{host}
	}
	key := a.key // the same key for all sites, because making keys takes time and no secrets are involved
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	c := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	a.leaves[id] = c
	return c, nil
}
