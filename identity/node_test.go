package identity

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// loopback is a certificate for servers on loopback, and a client that trusts it and follows no redirects.
type loopback struct {
	cert, key string // file paths
	client    *http.Client
}

func newLoopback(t testing.TB) *loopback {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "loopback"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	l := &loopback{cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem")}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	for name, b := range map[string]*pem.Block{l.cert: {Type: "CERTIFICATE", Bytes: der}, l.key: {Type: "PRIVATE KEY", Bytes: pkcs8}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	t.Cleanup(tr.CloseIdleConnections)
	l.client = &http.Client{Transport: tr, Timeout: 20 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return l
}

// do sends a signed request and returns the status, body and header of the response.
func (l *loopback) do(t testing.TB, addr, target string, s Signed, h http.Header) (int, string, http.Header) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, "https://"+addr+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = h.Clone()
	s.Set(req.Header)
	resp, err := l.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b), resp.Header
}

// node starts the verifier with a clock that differs by skew, and returns its address.
func (l *loopback) node(t testing.TB, directory string, skew time.Duration) string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	cmd := exec.Command(node, filepath.Join("testdata", "verifier.mjs"), l.cert, l.key, directory, testAgent, fmt.Sprint(skew.Seconds()))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the verifier did not start: %v", err)
	}
	return "127.0.0.1:" + strings.TrimSpace(port)
}

// An independent verifier in another language accepts signatures made by Sign, and rejects requests changed afterwards.
func TestNodeVerifier(t *testing.T) {
	l, k, other := newLoopback(t), mustKey(t), mustKey(t)
	directory := filepath.Join(t.TempDir(), "directory.json")
	if err := os.WriteFile(directory, marshalDirectory([]PublicKey{{ID: k.ID(), Key: k.Public()}}), 0o600); err != nil {
		t.Fatal(err)
	}
	s := mustSigner(t, k)
	header := http.Header{"User-Agent": {"labbot/1.2"}}
	sign := func(s *Signer, addr, target string, c Challenge, now time.Time) Signed {
		sig, err := s.Sign(Message{Method: "GET", Scheme: "https", Authority: addr, Target: target, Header: header}, c, now)
		if err != nil {
			t.Fatal(err)
		}
		return sig
	}

	t.Run("1000 requests", func(t *testing.T) {
		addr := l.node(t, directory, 0)
		for i := range 1000 {
			target := fmt.Sprintf("/page/%d?q=%d&r=%%20", i, i)
			c := Challenge{}
			if i%3 == 0 {
				c.Cover = []string{"@query", "user-agent"}
			}
			if status, body, _ := l.do(t, addr, target, sign(s, addr, target, c, time.Now()), header); status != 200 {
				t.Fatalf("request %d: %s", i, body)
			}
		}
	})
	t.Run("changed", func(t *testing.T) {
		addr := l.node(t, directory, 0)
		now := time.Now()
		used := sign(s, addr, "/a", Challenge{}, now)
		for _, c := range []struct {
			name, target, want string
			sig                Signed
		}{
			{"nothing", "/a", "welcome", used},
			{"a nonce again", "/a", "replayed", used},
			{"host", "/a", "bad signature", sign(s, "other.test", "/a", Challenge{}, now)},
			{"path", "/b", "bad signature", sign(s, addr, "/a", Challenge{}, now)},
			{"query that is covered", "/a?y", "bad signature", sign(s, addr, "/a?x", Challenge{Cover: []string{"@query"}}, now)},
			{"key", "/a", "unknown key", sign(mustSigner(t, other), addr, "/a", Challenge{}, now)},
			{"key that has another's name", "/a", "bad signature", func() Signed {
				sig := sign(mustSigner(t, other), addr, "/a", Challenge{}, now)
				sig.Input = strings.Replace(sig.Input, other.ID(), k.ID(), 1)
				return sig
			}()},
			{"time", "/a", "expired, made 36", sign(s, addr, "/a", Challenge{}, now.Add(-6*time.Minute-time.Second))},
			{"time that is changed back", "/a", "bad signature", func() Signed {
				sig := sign(s, addr, "/a", Challenge{}, now.Add(-time.Hour))
				sig.Input = strings.NewReplacer(fmt.Sprint(now.Add(-time.Hour).Unix()), fmt.Sprint(now.Unix()),
					fmt.Sprint(now.Add(-time.Hour+signatureLifetime).Unix()), fmt.Sprint(now.Add(signatureLifetime).Unix())).Replace(sig.Input)
				return sig
			}()},
			{"unsigned", "/a", "no signature", Signed{}},
		} {
			if _, body, _ := l.do(t, addr, c.target, c.sig, header); !strings.HasPrefix(body, c.want) {
				t.Errorf("%s: %s", c.name, body)
			}
		}
	})
	t.Run("challenge", func(t *testing.T) {
		addr := l.node(t, directory, 0)
		p := NewPolicy(Challenged, s)
		ask := func(target string, again bool) (int, Verdict) {
			m := Message{Method: "GET", Scheme: "https", Authority: addr, Target: target, Header: header}
			sig, err := p.Sign(m, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			status, _, h := l.do(t, addr, target, sig, header)
			return status, p.Answer(Answer{Request: m, Signed: sig, Again: again, Status: status, Header: h, Time: time.Now()})
		}
		if status, v := ask("/a", false); status != 401 || !v.Again {
			t.Errorf("%d %+v", status, v)
		}
		for i := range 10 {
			if status, v := ask(fmt.Sprintf("/a?%d", i), i == 0); status != 200 || v != (Verdict{}) {
				t.Errorf("%d: %d %+v", i, status, v)
			}
		}
	})
	for _, skew := range []time.Duration{time.Hour, -time.Hour} {
		t.Run("clock off by "+skew.String(), func(t *testing.T) {
			addr := l.node(t, directory, skew)
			p := NewPolicy(Always, s)
			m := Message{Method: "GET", Scheme: "https", Authority: addr, Target: "/", Header: header}
			sig, err := p.Sign(m, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			status, body, h := l.do(t, addr, "/", sig, header)
			if status != 401 || !strings.Contains(body, "clocks differ") {
				t.Errorf("%d %s", status, body)
			}
			v := p.Answer(Answer{Request: m, Signed: sig, Status: status, Header: h, Time: time.Now()})
			if d := (v.Skew - skew).Abs(); d > 5*time.Second || !strings.Contains(v.Note, "one of the two is wrong") {
				t.Errorf("%+v", v)
			}
		})
	}
}
