package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// ui is what a person sees on stderr: one status line on a terminal, log lines elsewhere.
type ui struct {
	flags outputFlags
	tty   bool
	color bool
	width int
	log   *slog.Logger

	mu    sync.Mutex
	w     io.Writer
	drawn bool // a status line stands on the terminal
}

func newUI(w io.Writer, f outputFlags) *ui {
	u := &ui{flags: f, w: w, width: 80}
	if file, ok := w.(*os.File); ok && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb" {
		u.tty = true
		if cols, _, err := term.GetSize(int(file.Fd())); err == nil && cols > 20 {
			u.width = cols
		}
	}
	u.color = f.Color == "always" || f.Color == "auto" && u.tty && os.Getenv("NO_COLOR") == ""
	level := slog.LevelInfo
	if f.Verbose {
		level = slog.LevelDebug
	}
	opts := &slog.HandlerOptions{Level: level}
	var h slog.Handler = slog.NewTextHandler(lineWriter{u}, opts)
	if f.LogFormat == "json" {
		h = slog.NewJSONHandler(lineWriter{u}, opts)
	}
	u.log = slog.New(h)
	return u
}

// lineWriter writes whole lines and takes the status line away first.
type lineWriter struct{ u *ui }

func (l lineWriter) Write(b []byte) (int, error) {
	l.u.mu.Lock()
	defer l.u.mu.Unlock()
	l.u.clear()
	return l.u.w.Write(b)
}

// clear takes the status line away. The caller holds mu.
func (u *ui) clear() {
	if u.drawn {
		fmt.Fprint(u.w, "\r\x1b[K")
		u.drawn = false
	}
}

// say prints one line for the person at the keyboard, whatever the flags.
func (u *ui) say(format string, args ...any) {
	fmt.Fprintf(lineWriter{u}, "amble: "+format+"\n", args...)
}

// trace logs the crawl's events at debug level, and failures as warnings.
func (u *ui) trace() *crawler.Trace {
	if u.flags.Quiet || !u.flags.Verbose {
		return nil
	}
	return &crawler.Trace{
		Waiting: func(x weburl.URL, w *politeness.NotYet) {
			u.log.Debug("waiting", "url", x, "until", w.Until.Format(time.RFC3339Nano), "clause", w.Clauses[0].Name)
		},
		Admitted: func(_ weburl.URL, p politeness.Permit) {
			u.log.Debug("request", "url", p.URL(), "purpose", p.Purpose())
		},
		Retrying: func(x weburl.URL, reason string, at time.Time) {
			u.log.Debug("retrying", "url", x, "reason", reason, "at", at.Format(time.RFC3339Nano))
		},
		Visited: func(v *crawler.Visit) {
			u.log.Debug("visit", "url", v.URL, "outcome", string(v.Outcome), "status", v.Status(), "reason", v.Reason)
		},
	}
}

// watch shows the crawl's progress until the function it returns is called.
func (u *ui) watch(c *crawler.Crawler) (stop func()) {
	if u.flags.Quiet {
		return func() {}
	}
	every := 30 * time.Second
	if u.tty {
		every = 200 * time.Millisecond
	}
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				u.show(c.Progress())
			}
		}
	})
	return func() {
		close(done)
		watching.Wait()
		u.mu.Lock()
		defer u.mu.Unlock()
		u.clear()
	}
}

func (u *ui) show(p crawler.Progress) {
	age := time.Since(p.Started).Seconds()
	rate := float64(p.Pages) / max(age, 0.001)
	refused := p.Outcomes[crawler.Refused] + p.Outcomes[crawler.OutOfScope] + p.Outcomes[crawler.Trapped]
	failed := p.Outcomes[crawler.Failed] + p.Outcomes[crawler.Deferred]
	f := p.Frontier
	if !u.tty {
		u.log.Info("progress", "pages", p.Pages, "rate", fmt.Sprintf("%.1f/s", rate), "hosts_active", f.Claimed, "hosts", f.Hosts,
			"queued", f.Queued+f.Waiting, "refused", refused, "failed", failed)
		return
	}
	line := fmt.Sprintf("%d pages  %.1f/s  %d of %d hosts active  %d queued  %d refused  %d failed  %s",
		p.Pages, rate, f.Claimed, f.Hosts, f.Queued+f.Waiting, refused, failed, time.Duration(age)*time.Second)
	if len(line) >= u.width {
		line = line[:u.width-1]
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	fmt.Fprint(u.w, "\r\x1b[K"+line)
	u.drawn = true
}

// summary prints what came of the crawl.
func (u *ui) summary(r *crawler.Report) {
	if u.flags.Quiet {
		return
	}
	if u.flags.JSON {
		b, err := json.MarshalIndent(r, "", "  ")
		if err == nil {
			fmt.Fprintf(lineWriter{u}, "%s\n", b)
		}
		return
	}
	fmt.Fprint(lineWriter{u}, summaryText(r, u.color))
}
