package consent

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// TDMPath is the path of an origin's file of the TDM Reservation Protocol.
const TDMPath = "/.well-known/tdmrep.json"

// TDM is a file /.well-known/tdmrep.json: it says for which paths an origin reserves text and data mining. It is safe for concurrent use.
type TDM struct {
	url   string
	err   error // reason why the file could not be read
	rules []tdmRule
}

type tdmRule struct {
	pattern  robots.Pattern
	location string
	reserved bool
	policy   string
}

const (
	// MaxDocument limits the bytes of a file for [ParseTDM] and [ParseLicense].
	MaxDocument = 1 << 20
	maxRules    = 10_000 // maximum number of rules in a file
)

// ParseTDM parses a file. It leaves out invalid entries. The error is the reason why the whole file is invalid: it is too long, not JSON,
// or not an array.
func ParseTDM(url string, body []byte) (*TDM, error) {
	if len(body) > MaxDocument {
		return nil, fmt.Errorf("%s: longer than %d bytes", url, MaxDocument)
	}
	var entries []json.RawMessage
	if err := json.Unmarshal(body, &entries); err != nil {
		return nil, fmt.Errorf("%s: not the array of a tdmrep.json: %w", url, err)
	}
	t := &TDM{url: url}
	for _, raw := range entries[:min(len(entries), maxRules)] {
		var e struct {
			Location    *string         `json:"location"`
			Reservation json.RawMessage `json:"tdm-reservation"`
			Policy      string          `json:"tdm-policy"`
		}
		if json.Unmarshal(raw, &e) != nil || e.Location == nil {
			continue
		}
		switch string(e.Reservation) {
		case "1", `"1"`, "true":
			t.rules = append(t.rules, tdmRule{robots.NewPattern(*e.Location), *e.Location, true, e.Policy})
		case "0", `"0"`, "false":
			t.rules = append(t.rules, tdmRule{robots.NewPattern(*e.Location), *e.Location, false, e.Policy})
		}
	}
	return t, nil
}

// unreadTDM returns a TDM for a file that a server could not send, for a reason that may be temporary. Its reservations are unknown, so it
// forbids train-ai and ai-input. It must not be used for a file that does not exist.
func unreadTDM(url string, why error) *TDM { return &TDM{url: url, err: why} }

// read adds the statement of the rule whose location matches and is longest. Of equally long ones, a reservation wins.
func (t *TDM) read(r *Record, u weburl.URL) {
	if t.err != nil {
		r.add(Statement{
			Place: TDMRep, Document: t.url, Name: "tdm-reservation", Text: "cannot be read: " + t.err.Error(), effects: effects(Forbids, uses[robots.UseTDM]...),
		})
		return
	}
	best := -1
	path := u.PathQuery()
	for i, rule := range t.rules {
		if !rule.pattern.Match(path) {
			continue
		}
		if best < 0 || rule.pattern.Len() > t.rules[best].pattern.Len() ||
			rule.pattern.Len() == t.rules[best].pattern.Len() && rule.reserved && !t.rules[best].reserved {
			best = i
		}
	}
	if best < 0 {
		return
	}
	rule := t.rules[best]
	s := Statement{Place: TDMRep, Document: t.url, Name: "tdm-reservation", Text: "0 for " + rule.location, Use: robots.UseTDM, Signal: robots.Allowed}
	s.effects = effects(Allows, uses[robots.UseTDM]...)
	if rule.reserved {
		s.Text, s.Signal = "1 for "+rule.location, robots.Disallowed
		s.effects = effects(Forbids, uses[robots.UseTDM]...)
		if rule.policy != "" {
			s.Text += ", policy " + rule.policy
		}
	}
	r.add(s)
}

// ReadDocument parses the response for a document that a site names. It is a tdmrep.json if its URL ends with [TDMPath], otherwise an RSL
// document. failure is the reason why the document could not be read, "" if it was. At most one of the results is not nil. Both are nil for
// a tdmrep.json that does not exist or is not JSON, because many sites respond to every URL with an HTML page.
func ReadDocument(url string, status int, failure string, body []byte) (*License, *TDM) {
	isTDM := strings.HasSuffix(url, TDMPath)
	switch {
	case isTDM && failure != "":
		return nil, unreadTDM(url, errors.New(failure))
	case isTDM && status == http.StatusOK:
		t, _ := ParseTDM(url, body)
		return nil, t
	case isTDM:
		return nil, nil
	case failure != "":
		return Unread(url, errors.New(failure)), nil
	}
	return ParseLicense(url, body), nil
}
