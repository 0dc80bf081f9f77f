package politeness

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness/audit"
	"github.com/amble-crawler/amble/politeness/ledger"
)

// TestTheLedgerIsSignedEveryFiveMinutesAndAtTheEnd also checks that the chain continues after a restart, and that neither a replay nor an
// audit of the ledger mistakes a signed head for a request.
func TestTheLedgerIsSignedEveryFiveMinutesAndAtTheEnd(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var out bytes.Buffer
		var signed []int64
		c := Config{Ledger: &out, SignHead: func(_ [sha256.Size]byte, lines int64, at time.Time) (string, error) {
			if at.Before(time.Now()) {
				t.Errorf("signed at %v", at)
			}
			signed = append(signed, lines)
			return fmt.Sprint("token", lines), nil
		}}
		send := func(b *client, n int) {
			for range n {
				b.send(b.must("https://a.test/robots.txt"), 0, Reply{Status: 404})
				time.Sleep(time.Minute)
			}
		}
		b := newClient(t, c)
		send(b, 7)
		for range 2 {
			if err := b.gate.SignHead(); err != nil {
				t.Fatal(err)
			}
		}
		before := out.String()
		c.LedgerSize = int64(len(before))
		r := newClient(t, c)
		if err := r.gate.Replay(strings.NewReader(before+`{"event":"sta`), nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		send(r, 1)
		if err := r.gate.SignHead(); err != nil {
			t.Fatal(err)
		}
		if want := []int64{11, 15, 18}; !slices.Equal(signed, want) { // 7 requests are 14 lines; the head makes 15
			t.Errorf("signed after %d lines, want %d", signed, want)
		}
		chain, err := ledger.ReadChain(bytes.NewReader(out.Bytes()))
		if err != nil || chain.Lines != int64(strings.Count(out.String(), "\n")) {
			t.Errorf("%d lines: %v\n%s", chain.Lines, err, out.String())
		}
		id := identity()
		rep, err := audit.Check(&out, audit.Config{UserAgent: id.UserAgent(), Contact: id.Contact, Delay: 1}, nil)
		if err != nil || rep.Requests != 8 || rep.Runs != 2 || len(rep.Violations) > 0 {
			t.Errorf("%+v, %v", rep, err)
		}
	})
}

func TestAHeadThatCannotBeSignedEndsNoRequest(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var out bytes.Buffer
		b := newClient(t, Config{Ledger: &out, SignHead: func([sha256.Size]byte, int64, time.Time) (string, error) { return "", errors.New("no key") }})
		for range 8 {
			b.send(b.must("https://a.test/robots.txt"), 0, Reply{Status: 404})
			time.Sleep(time.Minute)
		}
		if err := b.gate.SignHead(); err == nil || strings.Contains(out.String(), `"head"`) {
			t.Errorf("%v\n%s", err, out.String())
		}
	})
}
