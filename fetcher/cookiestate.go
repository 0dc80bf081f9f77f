package fetcher

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// jarSchema identifies the format in which a Jar is saved.
const jarSchema = "amble.cookies/1"

// maxSaved is the maximum size in bytes of the saved cookies that responses have set.
const maxSaved = 1 << 20

// savedJar is the JSON form of a Jar.
type savedJar struct {
	Schema string      `json:"schema"`
	Source string      `json:"source,omitempty"` // the Jar's source
	Hosts  []string    `json:"hosts,omitempty"`
	Loaded []cookie    `json:"loaded,omitempty"`
	Sites  []savedSite `json:"sites,omitempty"` // the most recently used site first
}

type savedSite struct {
	Origin  string   `json:"origin"`
	Cookies []cookie `json:"cookies"`
}

// cookieValue is the value of a cookie, which need not be UTF-8. Its JSON form is Base64.
type cookieValue string

func (v cookieValue) MarshalJSON() ([]byte, error) { return json.Marshal([]byte(v)) }

func (v *cookieValue) UnmarshalJSON(b []byte) error {
	var value []byte
	err := json.Unmarshal(b, &value)
	*v = cookieValue(value)
	return err
}

// Changes returns a number that grows with each change that must be saved. Extending an expiry time by less than an hour is not such a
// change.
func (j *Jar) Changes() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.changes
}

// Source returns the SHA-256, in hexadecimal, of the file that was loaded last, or "". An earlier process may have loaded it, if the Jar
// was restored.
func (j *Jar) Source() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.source
}

// Save returns all cookies that have not expired, including those without an expiry time, as JSON. They are secrets and must be protected
// like passwords. Of the cookies that responses have set, Save returns at most 1 MiB, the most recently used ones.
func (j *Jar) Save() ([]byte, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now()
	s := savedJar{Schema: jarSchema, Source: j.source, Hosts: slices.Sorted(maps.Keys(j.hosts))}
	for _, domain := range slices.Sorted(maps.Keys(j.loaded)) {
		s.Loaded = append(s.Loaded, fresh(j.loaded[domain], now)...)
	}
	size := 0
	for el := j.recent.Front(); el != nil; el = el.Next() {
		site := el.Value.(*cookieSite)
		cookies := fresh(site.cookies, now)
		if len(cookies) == 0 {
			continue
		}
		for _, c := range cookies {
			size += len(c.Name) + len(c.Value) + len(c.Path) + len(c.Domain)
		}
		if size += len(site.origin); size > maxSaved {
			break
		}
		s.Sites = append(s.Sites, savedSite{site.origin, cookies})
	}
	b, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("fetcher: cookies: %w", err)
	}
	return append(b, '\n'), nil
}

// fresh returns the cookies that have not expired.
func fresh(cookies []cookie, now time.Time) (list []cookie) {
	for _, c := range cookies {
		if !c.expired(now) {
			list = append(list, c)
		}
	}
	return list
}

// errSaved is returned for data that Save has not written. It does not contain the data, which may be secret.
var errSaved = errors.New("fetcher: cookies: not what a Jar has saved")

// Restore replaces the contents of a Jar with the result of Save.
func (j *Jar) Restore(b []byte) error {
	var s savedJar
	if json.Unmarshal(b, &s) != nil || s.Schema != jarSchema {
		return errSaved
	}
	restored := NewJar()
	for _, h := range s.Hosts {
		restored.hosts[h] = true
	}
	for _, c := range s.Loaded {
		restored.put(c)
	}
	for i := len(s.Sites) - 1; i >= 0; i-- {
		site := restored.add(s.Sites[i].Origin)
		site.cookies = append(site.cookies, s.Sites[i].Cookies[:min(len(s.Sites[i].Cookies), maxCookies)]...)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.sites, j.recent, j.loaded, j.hosts, j.source = restored.sites, restored.recent, restored.loaded, restored.hosts, s.Source
	return nil
}
