package server

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"
)

// Webhook permits clients to register URLs that are called when a job's state changes.
type Webhook struct {
	Prefix string // prefix of the URLs, which ends with a slash
	Secret string // key for signing events
}

const (
	// SignatureHeader holds the time in seconds since 1970 and the signature of an event: t=TIME,v1=HEX. The signature is the
	// HMAC-SHA256 of the time, a dot and the body.
	SignatureHeader = "Amble-Signature"

	maxWebhooks = 5    // maximum per job
	maxWebhook  = 2000 // bytes of a URL: job.json has it once for each event that is pending
	hookTime    = 10 * time.Second
)

// minKey is the length of a key for signatures: 120 bits in hexadecimal digits.
const minKey = 30

// ReadWebhooks reads a file of webhooks, which only its owner may be able to read: each line has a URL prefix and a secret of at least
// 30 bytes. Lines that begin with # are comments.
func ReadWebhooks(name string) (all []Webhook, err error) {
	err = eachLine(name, func(words []string) error {
		u, err := url.Parse(words[0])
		if err != nil || len(words) != 2 || len(words[1]) < minKey || plainURL(u) != words[0] || !strings.HasSuffix(u.Path, "/") {
			return errors.New("want PREFIX SECRET, such as https://hooks.company.example/amble/ and 30 or more letters and digits")
		}
		all = append(all, Webhook{words[0], words[1]})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// plainURL normalizes an http or https URL for comparison with prefixes. It returns "" if the URL has parts that could lead elsewhere.
func plainURL(u *url.URL) string {
	clean := path.Clean(u.Path)
	if strings.HasSuffix(u.Path, "/") && clean != "/" {
		clean += "/"
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" || u.Path != clean || u.RawPath != "" {
		return ""
	}
	return u.String()
}

// webhookOf returns the webhook that permits a URL, nil if there is none.
func (s *Server) webhookOf(text string) *Webhook {
	u, err := url.Parse(text)
	if err != nil || plainURL(u) != text || len(text) > maxWebhook {
		return nil
	}
	for i := range s.config.Webhooks {
		if w := &s.config.Webhooks[i]; strings.HasPrefix(text, w.Prefix) {
			return w
		}
	}
	return nil
}

// checkWebhooks refuses webhooks that the operator has not permitted.
func (s *Server) checkWebhooks(urls []string) error {
	for i, u := range urls {
		switch {
		case i >= maxWebhooks:
			return &problemError{Status: http.StatusBadRequest, Title: "too many webhooks", Detail: fmt.Sprintf("a job may have %d", maxWebhooks), Pointer: "/webhooks"}
		case s.webhookOf(u) == nil:
			return &problemError{Status: http.StatusBadRequest, Title: "a webhook is not allowed", Detail: "the operator of the server has to allow its prefix", Pointer: "/webhooks/" + strconv.Itoa(i)}
		}
	}
	return nil
}

// hooks makes the requests. It does not follow redirects, because the operator has allowed no other address.
var hooks = &http.Client{
	Timeout:       hookTime,
	Transport:     &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// send sends an event to a webhook. Anything but an answer of 2xx is an error.
func (s *Server) send(ctx context.Context, to string, event []byte) error {
	w := s.webhookOf(to)
	if w == nil {
		return errors.New("the operator does not allow it any more")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(event))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", mediaJSON)
	r.Header.Set(SignatureHeader, w.sign(time.Now(), event))
	a, err := hooks.Do(r)
	if err != nil {
		return err
	}
	_ = a.Body.Close() // the body is not needed
	if a.StatusCode < 200 || a.StatusCode > 299 {
		return fmt.Errorf("it answered with status %d", a.StatusCode)
	}
	return nil
}

// sign returns the value of SignatureHeader.
func (w *Webhook) sign(now time.Time, event []byte) string {
	t := strconv.FormatInt(now.Unix(), 10)
	h := hmac.New(sha256.New, []byte(w.Secret))
	h.Write([]byte(t + "."))
	h.Write(event)
	return "t=" + t + ",v1=" + hex.EncodeToString(h.Sum(nil))
}
