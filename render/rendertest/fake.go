package rendertest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"html"
	"slices"
	"strings"
	"sync"
	"time"

	xhtml "golang.org/x/net/html"

	"github.com/amble-crawler/amble/render"
	"github.com/amble-crawler/amble/weburl"
)

// Fake renders pages without a browser. It understands scripts with these lines:
//
//	import URL   runs another script, which is requested
//	fetch URL    requests it and writes the body of the answer, HTML, at the end of the page
//	link URL     writes a link
//	text WORDS   writes text
//	push URL     is a Route of the page
//	crash        ends the round as a browser's crash does
//
// in <script src> and in inline scripts of a document. It ignores all other lines. The scripts of a document are requested together, and
// what the lines of a script request one after the other. The zero Fake is ready for use, and may be used concurrently.
//
// If Parked is set, up to that many pages keep their answers between two rounds, as open pages of a browser do, and ask only for the rest.
//
// A Fake checks that callers obey the contract of render.Task: [Fake.Faults] lists forbidden differences between rounds of a page.
type Fake struct {
	Parked int // maximum number of pages kept between two rounds; the page that has waited longest is dropped first

	mu     sync.Mutex
	rounds int
	seen   map[string]*task
	faults []string
	parked []parked
}

// parked holds the decisions that a page got in earlier rounds.
type parked struct {
	key       string
	decisions map[string]render.Decision
}

// task holds the properties that all rounds of a page share.
type task struct {
	seed      uint64
	time      int64
	document  [sha256.Size]byte
	decisions map[string]string
}

// Round implements crawler.Renderer.
func (f *Fake) Round(ctx context.Context, t render.Task) (*render.Result, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	f.begin(&t)
	p := &page{fake: f, task: &t, decided: map[string]*render.Answer{}, had: f.unpark(&t)}
	p.run()
	if len(p.res.Missing) > 0 {
		f.park(&t, p.had)
	}
	return &p.res, nil
}

// taskKey returns a key that is the same for all rounds of a page. If the page is fetched again, the key is different.
func taskKey(t *render.Task) string { return fmt.Sprint(t.URL, " ", t.Time.UnixNano()) }

// unpark removes and returns the decisions that a page got in earlier rounds, if they were kept.
func (f *Fake) unpark(t *render.Task) map[string]render.Decision {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.parked {
		if x := f.parked[i]; x.key == taskKey(t) {
			f.parked = slices.Delete(f.parked, i, i+1)
			return x.decisions
		}
	}
	return map[string]render.Decision{}
}

func (f *Fake) park(t *render.Task, decisions map[string]render.Decision) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.parked = append(f.parked, parked{taskKey(t), decisions})
	f.parked = f.parked[max(0, len(f.parked)-f.Parked):]
}

// Rounds returns the number of rounds that were run.
func (f *Fake) Rounds() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rounds
}

// Faults lists how callers have violated the contract of render.Task.
func (f *Fake) Faults() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.faults
}

func (f *Fake) begin(t *render.Task) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rounds++
	if f.seen == nil {
		f.seen = map[string]*task{}
	}
	now := &task{t.Seed, t.Time.UnixNano(), sha256.Sum256(t.Document.Body), map[string]string{}}
	key := taskKey(t)
	old := f.seen[key]
	if old == nil {
		f.seen[key] = now
	} else if old.seed != now.seed || old.document != now.document {
		f.faults = append(f.faults, fmt.Sprintf("%s: two rounds with another seed or document", t.URL))
	}
}

// decided records a decision about a Want, and a fault if it differs from that of an earlier round.
func (f *Fake) decided(t *render.Task, w render.Want, d render.Decision) {
	text := d.Refuse
	if d.Answer != nil {
		text = fmt.Sprintf("%d %x", d.Answer.Status, sha256.Sum256(d.Answer.Body))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.seen[taskKey(t)].decisions
	key := string(w.Kind) + " " + w.URL.String()
	if old, ok := known[key]; ok && old != text {
		f.faults = append(f.faults, fmt.Sprintf("%s: %s was %q and is %q", t.URL, key, old, text))
	}
	if text != "" {
		known[key] = text
	}
}

// page is a page during a round.
type page struct {
	fake    *Fake
	task    *render.Task
	res     render.Result
	decided map[string]*render.Answer  // answers by URL; nil for refused requests
	had     map[string]render.Decision // decisions by URL and kind, in this and earlier rounds
	added   bytes.Buffer               // HTML added to the document
	depth   int
}

func (p *page) run() {
	p.res.URL = p.task.URL
	sources, inline := scripts(p.task.Document.Body)
	for _, s := range sources {
		p.want(s, render.KindScript)
	}
	if len(p.res.Missing) > 0 {
		return
	}
	for _, s := range sources {
		if a := p.answer(s); a != nil && !p.script(string(a.Body)) {
			return
		}
	}
	for _, s := range inline {
		if !p.script(s) {
			return
		}
	}
	end := bytes.LastIndex(p.task.Document.Body, []byte("</body>"))
	if end < 0 {
		end = len(p.task.Document.Body)
	}
	p.res.DOM = bytes.Join([][]byte{p.task.Document.Body[:end], p.added.Bytes(), p.task.Document.Body[end:]}, nil)
}

// maxDepth limits how deep scripts may import each other.
const maxDepth = 20

// script runs a script and reports whether the page continues.
func (p *page) script(s string) bool {
	if p.depth++; p.depth > maxDepth {
		return true
	}
	defer func() { p.depth-- }()
	for line := range strings.Lines(s) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !p.line(word, rest) {
			return false
		}
	}
	return true
}

func (p *page) line(word, rest string) bool {
	switch word {
	case "import", "fetch":
		kind := map[string]render.Kind{"import": render.KindScript, "fetch": render.KindFetch}[word]
		if !p.want(rest, kind) {
			return false
		}
		a := p.answer(rest)
		switch {
		case a != nil && word == "import":
			return p.script(string(a.Body))
		case a != nil:
			p.added.Write(a.Body)
		}
	case "link":
		fmt.Fprintf(&p.added, "<a href=\"%s\">link</a>\n", html.EscapeString(rest))
	case "text":
		fmt.Fprintf(&p.added, "<p>%s</p>\n", html.EscapeString(rest))
	case "push":
		if u, err := p.task.URL.Resolve(rest); err == nil {
			p.res.Routes = append(p.res.Routes, render.Route{URL: u, How: render.HowPush})
		}
	case "crash":
		p.res = render.Result{Cut: render.CutCrashed, Requests: p.res.Requests}
		return false
	}
	return true
}

// want requests a URL, and reports whether a decision about it is known.
func (p *page) want(ref string, kind render.Kind) bool {
	u, err := p.task.URL.Resolve(ref)
	if err != nil {
		p.decided[ref] = nil
		p.res.Requests = append(p.res.Requests, render.Fate{URL: ref, Kind: string(kind), Refused: weburl.ReasonOf(err)})
		return true
	}
	w := render.Want{URL: u, Method: "GET", Kind: kind, Accept: "*/*"}
	key := string(w.Kind) + " " + u.String()
	d, ok := p.had[key]
	if !ok {
		d = p.task.Have(w)
		p.fake.decided(p.task, w, d)
	}
	fate := render.Fate{URL: u.String(), Kind: string(kind), Refused: d.Refuse}
	if d.Answer != nil {
		fate.Status = d.Answer.Status
	}
	p.res.Requests = append(p.res.Requests, fate)
	if d.Answer == nil && d.Refuse == "" {
		p.res.Missing = append(p.res.Missing, w)
		return false
	}
	p.had[key], p.decided[ref] = d, d.Answer
	return true
}

// answer returns the response that a script gets; nil unless its status is 200.
func (p *page) answer(ref string) *render.Answer {
	if a := p.decided[ref]; a != nil && a.Status == 200 {
		return a
	}
	return nil
}

// scripts returns the URLs of a document's scripts, and the texts of its inline scripts.
func scripts(document []byte) (sources, inline []string) {
	z := xhtml.NewTokenizer(bytes.NewReader(document))
	for {
		switch z.Next() {
		case xhtml.ErrorToken:
			return sources, inline
		case xhtml.StartTagToken:
			tok := z.Token()
			if tok.Data != "script" {
				continue
			}
			src := ""
			for _, a := range tok.Attr {
				if a.Key == "src" {
					src = a.Val
				}
			}
			if src != "" {
				sources = append(sources, src)
			} else if z.Next() == xhtml.TextToken {
				inline = append(inline, string(z.Text()))
			}
		}
	}
}

// Rounder runs rounds: a Fake, or a browser.
type Rounder interface {
	Round(context.Context, render.Task) (*render.Result, error)
}

// Finish runs a rendering from its first round to its last. It requests missing resources from fetch, which returns an answer or a reason
// code. Times of the Policy are measured by now, which may be called at any time.
func Finish(ctx context.Context, r Rounder, x *render.Rendering, now func() time.Time,
	fetch func(render.Want) (*render.Answer, string)) (*render.Result, error) {
	for {
		res, err := r.Round(ctx, x.Task("amble-test/1", now()))
		if err != nil {
			return nil, err
		}
		if x.Took(res) {
			return res, nil
		}
		asked := 0
		for want, ok := x.Next(now()); ok; want, ok = x.Next(now()) {
			if a, reason := fetch(want); a != nil {
				x.Answered(want, a, now())
			} else {
				x.Refused(want, reason)
			}
			asked++
		}
		if x.Rounds() > 1000 {
			return nil, fmt.Errorf("rendertest: no end after %d rounds; the last wanted %d answers", x.Rounds(), asked)
		}
	}
}
