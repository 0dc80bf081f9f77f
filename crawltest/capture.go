package crawltest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"golang.org/x/tools/txtar"

	"github.com/amble-crawler/amble/weburl"
)

// Capture writes the answers of a small real site as a fixture for [Web.Load]. The zero Capture is empty and ready to
// use; it is safe for concurrent use.
//
// The meaning of robots.txt is not captured: add forbidden, forbids and crawl-delay by hand.
type Capture struct {
	mu    sync.Mutex
	files []txtar.File
}

// captured returns the header fields that are kept besides Content-Type and Location: those on which a crawler may
// act. Cookies are not kept.
func captured() []string {
	return []string{
		"Cache-Control", "Content-Encoding", "Content-Language", "ETag", "Expires", "Last-Modified", "Link", "Ratelimit", "Retry-After",
		"Content-Usage", "Tdm-Reservation", "X-Robots-Tag",
	}
}

// Add adds one answer: body is the body after Content-Encoding, if any, was undone. It returns an error if url is not
// one that a crawler can request, or status is not the status of a final answer.
func (c *Capture) Add(url string, status int, h http.Header, body []byte) error {
	u, err := weburl.Parse(url)
	if err != nil {
		return err
	}
	if status < 200 || status > 999 {
		return fmt.Errorf("crawltest: %d is not a final status code", status)
	}
	words := []string{u.String(), "status=" + itoa(status), "type=" + h.Get("Content-Type")}
	if to := h.Get("Location"); to != "" {
		words = append(words, "location="+to)
	}
	for _, key := range captured() {
		for _, value := range h.Values(key) {
			words = append(words, "header="+key+":"+value)
		}
	}
	f := txtar.File{Data: body}
	if !survives(body) {
		words = append(words, "base64")
		f.Data = []byte(wrap(base64.StdEncoding.EncodeToString(body)))
	}
	f.Name = joinWords(words)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.files = append(c.files, f)
	return nil
}

// Fixture returns the archive of the added answers, in order.
func (c *Capture) Fixture() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return txtar.Format(&txtar.Archive{Files: c.files})
}

// survives reports whether a body is read back unchanged from an archive.
func survives(body []byte) bool {
	a := txtar.Parse(txtar.Format(&txtar.Archive{Files: []txtar.File{{Name: "x", Data: body}}}))
	return len(a.Files) == 1 && bytes.Equal(a.Files[0].Data, body) && !bytes.ContainsRune(body, 0)
}

// wrap splits text into lines of 76 characters.
func wrap(s string) string {
	var b strings.Builder
	for len(s) > 76 {
		b.WriteString(s[:76] + "\n")
		s = s[76:]
	}
	return b.String() + s + "\n"
}

// joinWords reverses splitWords. A line end in a value, which no header can contain, becomes a blank.
func joinWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		w = strings.NewReplacer("\n", " ", "\r", " ").Replace(w)
		if strings.ContainsAny(w, " \t\"") {
			w = `"` + strings.ReplaceAll(w, `"`, `""`) + `"`
		}
		quoted[i] = w
	}
	return strings.Join(quoted, " ")
}
