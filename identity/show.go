package identity

import (
	"fmt"
	"strings"
	"time"
)

// KeyStatus names the state of a key at a certain time:
//
//	signs        signs requests now
//	waits        in the directory, but does not sign yet
//	ends         in the directory, but another key signs        signs requests now
//	retired      no longer in the directory
//	compromised  removed at once
type KeyStatus string

// The values of [KeyStatus].
const (
	statusSigns       KeyStatus = "signs"
	statusWaits       KeyStatus = "waits"
	statusEnds        KeyStatus = "ends"
	statusRetired     KeyStatus = "retired"
	statusCompromised KeyStatus = "compromised"
)

// KeySummary describes a key in a [Summary].
type KeySummary struct {
	ID        string    `json:"id"`
	Status    KeyStatus `json:"status"`
	Created   time.Time `json:"created"`
	NotBefore time.Time `json:"not_before,omitzero"`
	Expires   time.Time `json:"expires,omitzero"`
}

// Summary describes an identity without its secrets.
type Summary struct {
	Product        string       `json:"product"`
	UserAgent      string       `json:"user_agent"`
	SignatureAgent string       `json:"signature_agent"`
	Page           string       `json:"page"`
	Directory      string       `json:"directory"`
	Card           string       `json:"card"`
	Ranges         string       `json:"ranges"`
	PublicDir      string       `json:"public_dir"`
	Keys           []KeySummary `json:"keys"`
}

// Show returns the Summary of an identity.
func (f *Folder) Show(now time.Time) Summary {
	p := &f.state.Profile
	s := Summary{
		Product: p.Product, UserAgent: p.UserAgent, SignatureAgent: p.AgentURL(), Page: p.Page,
		Directory: p.DirectoryURL(), Card: p.CardURL(), Ranges: p.RangesURL(), PublicDir: f.PublicDir(),
	}
	current := ""
	if k, err := f.Key(now); err == nil {
		current = k.id
	}
	for i := range f.keys {
		s.Keys = append(s.Keys, KeySummary{
			ID: f.keys[i].public.ID, Status: f.keys[i].status(current, now), Created: f.state.Keys[i].Created,
			NotBefore: f.keys[i].public.NotBefore, Expires: f.keys[i].public.Expires,
		})
	}
	return s
}

func (k *directoryKey) status(current string, now time.Time) KeyStatus {
	switch {
	case k.compromised:
		return statusCompromised
	case !k.listed(now):
		return statusRetired
	case k.public.ID == current:
		return statusSigns
	case now.Before(k.public.NotBefore):
		return statusWaits
	}
	return statusEnds
}

// String returns the summary for a terminal.
func (s Summary) String() string {
	var b strings.Builder
	for _, line := range [][2]string{
		{"User-Agent", s.UserAgent}, {"Signature-Agent", s.SignatureAgent}, {"page", s.Page}, {"key directory", s.Directory},
		{"agent card", s.Card}, {"addresses", s.Ranges}, {"upload", s.PublicDir},
	} {
		fmt.Fprintf(&b, "%-16s %s\n", line[0], printable(line[1]))
	}
	for _, k := range s.Keys {
		fmt.Fprintf(&b, "%-16s %s  %s", "key", k.ID, k.Status)
		if k.Status == statusWaits {
			fmt.Fprintf(&b, " until %s", k.NotBefore.Format(time.RFC3339))
		}
		if !k.Expires.IsZero() {
			fmt.Fprintf(&b, ", expires %s", k.Expires.Format(time.RFC3339))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
