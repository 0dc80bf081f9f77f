package server

import (
	"crypto/rand"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/amble-crawler/amble/internal/localweb"
)

const (
	sessionTime = 12 * time.Hour // lifetime of a session; afterwards a browser has to present a token again
	maxSessions = 256            // maximum of all tokens together; the oldest ends first
	cookieName  = "amble-jobs"
	sessionRoot = "/s/" // prefix of the paths, followed by the secret
)

// session is a browser that has presented a token. It needs two secrets: a cookie, which browsers send to every port of the address
// (RFC 6265 section 8.5) but only below the path; and the path, which is sent to no other server. Neither contains the token.
type session struct {
	client *client
	path   string // /s/SECRET
	cookie string
	until  time.Time
}

// sessions holds all sessions, by path. A restart ends them.
type sessions struct {
	mu  sync.Mutex
	all map[string]*session
}

// begin starts a session, and sets its cookie.
func (s *sessions) begin(w http.ResponseWriter, c *client, encrypted bool) *session {
	one := &session{c, sessionRoot + rand.Text(), rand.Text(), time.Now().Add(sessionTime)} // 130 random bits in each secret
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[string]*session{}
	}
	if len(s.all) >= maxSessions {
		oldest := one
		for _, o := range s.all {
			if o.until.Before(oldest.until) {
				oldest = o
			}
		}
		delete(s.all, oldest.path)
	}
	s.all[one.path] = one
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: one.cookie, Path: one.path + "/", MaxAge: int(sessionTime.Seconds()),
		HttpOnly: true, Secure: encrypted, SameSite: http.SameSiteStrictMode,
	})
	return one
}

// of returns the valid session of a request, nil if it has none.
func (s *sessions) of(r *http.Request) *session {
	secret, _, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, sessionRoot), "/")
	cookie, err := r.Cookie(cookieName)
	if !ok || err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.all[sessionRoot+secret]
	if one == nil || !localweb.Same(one.cookie, cookie.Value) || !time.Now().Before(one.until) {
		return nil
	}
	return one
}

// goesOn reports whether a session has not ended.
func (s *sessions) goesOn(one *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[one.path] == one && time.Now().Before(one.until)
}

func (s *sessions) end(one *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, one.path)
}
