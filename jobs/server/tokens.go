package server

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/amble-crawler/amble/internal/localweb"
	"github.com/amble-crawler/amble/internal/safefile"
)

// Scope names the operations that a token permits.
type Scope string

// The scopes.
const (
	Read  Scope = "read"  // read jobs, results, exports and schedules
	Write Scope = "write" // start, pause, resume, stop and remove jobs and schedules
)

// Token authenticates a client. It holds a hash of the secret, never the secret.
type Token struct {
	Name   string // name in the audit log, and owner of jobs
	Scopes []Scope
	// MaxJobs limits the queued and running jobs of the token; 0: 1000. MaxRate limits its requests per second; 0: 20.
	MaxJobs int
	MaxRate float64

	hash [sha256.Size]byte
}

const (
	// defaultMaxJobs is the default of Token.MaxJobs.
	defaultMaxJobs = 1000
	// defaultMaxRate is the default of Token.MaxRate.
	defaultMaxRate = 20.0

	minSecret  = 8  // characters: too many to guess at maxGuesses per second
	maxGuesses = 10 // requests per second with unknown tokens, of all clients together
	maxStreams = 16 // concurrent streams of results and downloads of exports per token
)

// NewToken returns a token with this secret: 8 or more letters, digits, - and _.
func NewToken(name, secret string, scopes ...Scope) (Token, error) {
	switch {
	case !localweb.Plain(name):
		return Token{}, fmt.Errorf("server: name of a token %q: want letters, digits, - and _", name)
	case len(secret) < minSecret || !localweb.Plain(secret):
		return Token{}, fmt.Errorf("server: token %s: want a secret of %d or more letters and digits, such as: openssl rand -hex 20", name, minSecret)
	case len(scopes) == 0:
		return Token{}, fmt.Errorf("server: token %s: want scopes: read, or read,write", name)
	}
	for _, s := range scopes {
		if s != Read && s != Write {
			return Token{}, fmt.Errorf("server: token %s: no scope is called %q: want read or write", name, s)
		}
	}
	return Token{Name: name, Scopes: scopes, hash: sha256.Sum256([]byte(secret))}, nil
}

// ReadTokens reads a file of tokens, which only its owner may be able to read. Each line has a name, a secret and scopes separated by
// commas or spaces; after them, limits such as jobs=10 and rate=5 may follow. Lines that begin with # are comments.
func ReadTokens(path string) (all []Token, err error) {
	err = eachLine(path, func(words []string) error {
		t, err := parseToken(words)
		if err == nil && slices.ContainsFunc(all, func(o Token) bool { return o.Name == t.Name || o.hash == t.hash }) {
			err = fmt.Errorf("token %s has the same name or secret as another token", t.Name)
		}
		all = append(all, t)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no token: want lines of NAME TOKEN SCOPES, such as: ann $(openssl rand -hex 20) read,write", path)
	}
	return all, nil
}

// eachLine calls parse with the words of each line of a file with secrets, which only its owner may be able to read. It skips empty
// lines, and those that begin with #. The error names the line.
func eachLine(path string, parse func(words []string) error) error {
	b, err := safefile.ReadSecret(path, safefile.Token)
	if err != nil {
		return err
	}
	for i, line := range strings.Split(string(b), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if err := parse(words); err != nil {
			return fmt.Errorf("%s, line %d: %w", path, i+1, err)
		}
	}
	return nil
}

// parseToken reads the words of a line. Its errors do not show the secret.
func parseToken(words []string) (Token, error) {
	if len(words) < 3 {
		return Token{}, errors.New("want NAME TOKEN SCOPES, such as: ann SECRET read,write")
	}
	var scopes []Scope
	limits := slices.IndexFunc(words, func(w string) bool { return strings.Contains(w, "=") })
	if limits < 0 {
		limits = len(words)
	}
	for _, list := range words[2:max(limits, 2)] {
		for s := range strings.SplitSeq(list, ",") {
			scopes = append(scopes, Scope(s))
		}
	}
	t, err := NewToken(words[0], words[1], scopes...)
	if err != nil {
		return t, err
	}
	for _, limit := range words[max(limits, 2):] {
		name, value, _ := strings.Cut(limit, "=")
		switch n, err := strconv.ParseFloat(value, 64); {
		case name == "jobs" && err == nil && n >= 1 && n == float64(int(n)):
			t.MaxJobs = int(n)
		case name == "rate" && err == nil && n > 0 && n <= 1e6:
			t.MaxRate = n
		default:
			return t, fmt.Errorf("token %s: limit %q: want jobs=N or rate=N, above 0", t.Name, limit)
		}
	}
	return t, nil
}

// MakeTokens makes a file with one token, called operator, that has all scopes. An existing file is left unchanged.
func MakeTokens(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "# NAME TOKEN SCOPES, and limits such as jobs=10 rate=5\noperator %s read,write\n", rand.Text()+rand.Text())
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// client is a token in use.
type client struct {
	Token
	rate *rate.Limiter

	mu      sync.Mutex
	streams int
}

// clients holds all tokens.
type clients []*client

func newClients(all []Token) (clients, error) {
	var cs clients
	for _, t := range all {
		if t.hash == ([sha256.Size]byte{}) {
			return nil, fmt.Errorf("server: token %s has no secret: make it with NewToken", t.Name)
		}
		per := cmp.Or(t.MaxRate, defaultMaxRate)
		t.MaxJobs = cmp.Or(t.MaxJobs, defaultMaxJobs)
		cs = append(cs, &client{Token: t, rate: rate.NewLimiter(rate.Limit(per), max(1, int(2*per)))})
	}
	if len(cs) == 0 {
		return nil, errors.New("server: without a token nobody may do anything: give one")
	}
	return cs, nil
}

// of returns the client with a secret, nil if there is none. It takes the same time for every secret.
func (cs clients) of(secret string) (found *client) {
	hash := sha256.Sum256([]byte(secret))
	for _, c := range cs {
		if subtle.ConstantTimeCompare(hash[:], c.hash[:]) == 1 {
			found = c
		}
	}
	return found
}

// may reports whether a token allows something.
func (c *client) may(s Scope) bool { return slices.Contains(c.Scopes, s) }

// wait returns the delay before the client's next request. 0: the request is allowed, and counts.
func (c *client) wait(now time.Time) time.Duration {
	r := c.rate.ReserveN(now, 1)
	d := r.DelayFrom(now)
	if d > 0 {
		r.CancelAt(now)
	}
	return d
}

// enter reserves a stream. It returns false at the maximum.
func (c *client) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.streams >= maxStreams {
		return false
	}
	c.streams++
	return true
}

func (c *client) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.streams--
}
