//go:build linux

// Command rivals runs amble and other crawlers on the same web on loopback addresses. It prints, as Markdown, what the servers observe and
// the cost of each crawler. Nothing else should run at the same time.
//
//	cd tools && go run ./rivals                  # all that this machine has or can build
//	cd tools && go run ./rivals -only amble,wget # some of them
//
// Each crawler has the settings in its documentation. Crawlers that are not available are left out, and listed. The command needs Linux.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	only := flag.String("only", "", "the crawlers, with `commas` between their names; all by default")
	urls := flag.Int("queued", 100_000, "URLs that are queued in the trial of memory; a multiple of 1000")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *only, *urls); err != nil {
		fmt.Fprintln(os.Stderr, "rivals:", err)
		os.Exit(1)
	}
}

// run prepares the crawlers, lets each do all trials, and prints two tables.
func run(ctx context.Context, only string, urls int) (err error) {
	root, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "rivals")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	w := &web{pages: 400, hubs: urls / perHub}
	closeWeb, err := w.serve(ctx)
	if err != nil {
		return err
	}
	defer closeWeb()
	costs := []string{"| crawler | CPU, s per 1,000 pages | pages found | memory with " + fmt.Sprint(urls) + " URLs queued, MiB | kill -9: lost, requested twice |", "|---|---|---|---|---|"}
	politeness := []string{
		"| crawler, told 200 ms | pause at an address: least, 1 %, median (ms) | with two names (ms) | at once, most | forbidden link, redirect into it | pages without robots.txt (503) | Retry-After |",
		"|---|---|---|---|---|---|---|",
	}
	var notes []string
	for _, r := range rivals(root, dir) {
		if only != "" && !slices.Contains(strings.Split(only, ","), r.name) {
			continue
		}
		version, err := r.ready(ctx, dir)
		if err != nil {
			notes = append(notes, fmt.Sprintf("- %s: left out: %v", r.name, err))
			continue
		}
		fmt.Fprintln(os.Stderr, version)
		t := &trials{web: w, rival: &r, root: dir}
		cost, err := t.cost(ctx)
		polite, err2 := t.polite(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := errors.Join(err, err2); err != nil {
			notes = append(notes, fmt.Sprintf("- %s: left out: %v", r.name, err))
			continue
		}
		costs, politeness = append(costs, cost), append(politeness, polite)
		notes = append(notes, fmt.Sprintf("- %s: %s%s", r.name, version, strings.TrimSuffix("; "+r.note, "; ")))
	}
	_, err = fmt.Println(strings.Join(slices.Concat(costs, []string{""}, politeness, []string{""}, notes), "\n"))
	return err
}

// trials runs the trials of one crawler.
type trials struct {
	web   *web
	rival *rival
	root  string
	n     int // number of trials so far
}

// prepare makes an empty directory for a trial, with a file of seeds.
func (t *trials) prepare(hosts []string) (*trial, error) {
	t.n++
	x := &trial{hosts: hosts, dir: filepath.Join(t.root, fmt.Sprintf("%s-%d", strings.ReplaceAll(t.rival.name, " ", "-"), t.n))}
	if err := os.MkdirAll(x.dir, 0o755); err != nil {
		return nil, err
	}
	var err error
	x.seeds, err = t.web.seeds(x.dir, hosts)
	return x, err
}

// start starts the crawler in a process group.
func (t *trials) start(ctx context.Context, x *trial) (c *exec.Cmd, ended chan struct{}, err error) {
	argv := t.rival.command(x)
	c = exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Dir, c.SysProcAttr = x.dir, &syscall.SysProcAttr{Setpgid: true}
	c.Env = append(os.Environ(), "HOME="+x.dir, "XDG_STATE_HOME="+x.dir)
	messages, err := os.Create(filepath.Join(x.dir, "messages"))
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = messages.Close() }() // the crawler has its own descriptor
	c.Stderr = messages
	if err := c.Start(); err != nil {
		return nil, nil, err
	}
	ended = make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Wait() // the web's record says more than the exit code
	}()
	return c, ended, nil
}

// until waits until the crawler has ended, enough returns true, or the time most is over. Then it kills the crawler with all its processes.
func (t *trials) until(ctx context.Context, x *trial, most time.Duration, enough func([]request) bool) (*exec.Cmd, error) {
	c, ended, err := t.start(ctx, x)
	if err != nil {
		return nil, err
	}
	deadline, tick := time.After(most), time.NewTicker(50*time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return c, ctx.Err()
		case <-tick.C:
			if !enough(t.web.requests()) {
				continue
			}
		case <-deadline:
		}
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // the process may have ended already
		<-ended
		return c, ctx.Err()
	}
}

// cost measures CPU time, completeness and memory, and how much is lost by a kill.
func (t *trials) cost(ctx context.Context) (string, error) {
	never := func([]request) bool { return false }
	x, err := t.prepare(ordinary)
	if err != nil {
		return "", err
	}
	t.web.begin()
	c, err := t.until(ctx, x, 2*time.Minute, never)
	if err != nil {
		return "", err
	}
	all := t.web.pages * len(ordinary)
	found := len(pagesOf(t.web.requests()))
	if found == 0 {
		b, _ := os.ReadFile(filepath.Join(x.dir, "messages")) // read only for display
		return "", fmt.Errorf("no page was requested by %q: %s", c.Args, b)
	}
	cpu := (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds() / float64(found) * 1000

	x, err = t.prepare([]string{hubHost})
	if err != nil {
		return "", err
	}
	x.hosts = append(x.hosts, leaves...)
	t.web.begin()
	var served time.Time
	hubs := 0
	c, err = t.until(ctx, x, 3*time.Minute, func(seen []request) bool {
		is := map[string]bool{}
		for _, q := range seen {
			if q.host == hubHost && strings.HasPrefix(q.path, "/hub/") {
				is[q.path] = true
			}
		}
		if hubs = len(is); hubs == t.web.hubs && served.IsZero() {
			served = time.Now()
		}
		return !served.IsZero() && time.Since(served) > 3*time.Second // within 3 seconds, the last links are queued
	})
	closeOnce(t.web.stop)
	if err != nil {
		return "", err
	}
	memory := fmt.Sprint(c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10)
	if hubs < t.web.hubs {
		memory = fmt.Sprintf("%s, with %d", memory, hubs*perHub)
	}

	killed := "keeps nothing"
	if t.rival.resumes {
		if x, err = t.prepare(ordinary); err != nil {
			return "", err
		}
		x.keep = true
		t.web.begin()
		if _, err = t.until(ctx, x, time.Minute, func(seen []request) bool { return len(pagesOf(seen)) > all/3 }); err != nil {
			return "", err
		}
		x.again = true
		if _, err = t.until(ctx, x, 2*time.Minute, never); err != nil {
			return "", err
		}
		got, twice := pagesOf(t.web.requests()), 0
		for _, n := range got {
			if n > 1 {
				twice++
			}
		}
		killed = fmt.Sprintf("%d, %d", all-len(got), twice)
	}
	return fmt.Sprintf("| %s | %.2f | %d of %d | %s | %s |", t.rival.name, cpu, found, all, memory, killed), nil
}

// polite measures, from the servers' side, the requests of a crawler with a delay of 200 ms, and its behaviour where a site restricts it.
func (t *trials) polite(ctx context.Context) (string, error) {
	x, err := t.prepare(ordinary)
	if err != nil {
		return "", err
	}
	x.delay = 200 * time.Millisecond
	t.web.begin()
	if _, err = t.until(ctx, x, 20*time.Second, func([]request) bool { return false }); err != nil {
		return "", err
	}
	seen := t.web.requests()
	one := pausesAt(seen, func(a string) bool { return a != "127.0.0.1" })
	two := pausesAt(seen, func(a string) bool { return a == "127.0.0.1" })

	if x, err = t.prepare([]string{private, silent, busy}); err != nil {
		return "", err
	}
	x.delay = 200 * time.Millisecond
	t.web.begin()
	if _, err = t.until(ctx, x, 20*time.Second, func([]request) bool { return false }); err != nil {
		return "", err
	}
	m := mannersOf(t.web.requests())
	waited := "kept, or not asked again"
	if m.soon {
		waited = "not kept"
	}
	return fmt.Sprintf("| %s | %s | %s | %d | %s, %s | %d | %s |", t.rival.name, ms(one), ms(two), max(one.flight, two.flight), requested(m.forbidden), requested(m.redirected), m.silent, waited), nil
}

func requested(n int) string {
	return cmp.Or(map[int]string{0: "not requested"}[n], "requested")
}

// ms formats pauses in whole milliseconds.
func ms(p pauses) string {
	r := func(d time.Duration) int { return int(math.Round(float64(d) / 1e6)) }
	return fmt.Sprintf("%d, %d, %d", r(p.least), r(p.percent), r(p.median))
}
