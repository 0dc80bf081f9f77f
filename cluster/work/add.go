package work

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/weburl"
)

// Added is the result of [Operator.Add].
type Added struct {
	Order int   // number of the order that records the addition
	Seeds int64 // seeds in the file
	Known int64 // number of seeds at the beginning of the file that earlier calls had added
}

// Errors of [Operator.Add].
var (
	// ErrOutside is the error for a seed outside the scope of the job, which depends on the seeds with which the job was created.
	ErrOutside = errors.New("it is outside the scope of the job")
	// ErrNoContact is the error for a seed that is not on loopback, in a job without a contact.
	ErrNoContact = errors.New("the job was created without a contact, and requests nothing but loopback")
	// ErrChanged means that the file of seeds was changed during Add: lines of both versions of the file may have been added.
	ErrChanged = errors.New("the file was changed while its seeds were added")
	// ErrLine is the error for a line that is too long for a URL; reading stops there.
	ErrLine = errors.New("it is too long")
)

// BadLine is a line of a file of seeds that is not a valid seed of the job. Err is or wraps ErrOutside, ErrNoContact, ErrLine or an
// error of weburl.Parse.
type BadLine struct {
	Line int64 // line number, from 1
	Text string
	Err  error
}

// SeedsError is returned by [Operator.Add] for a file with invalid seeds, or without any seed.
type SeedsError struct {
	Path  string
	Lines []BadLine // the first invalid lines
	Bad   int64     // number of invalid lines; 0: the file has no seeds
}

// Error names the lines.
func (e *SeedsError) Error() string {
	if e.Bad == 0 {
		return e.Path + ": it has no seeds"
	}
	var all []string
	for _, l := range e.Lines {
		all = append(all, fmt.Sprintf("%s:%d: %q: %v", e.Path, l.Line, l.Text, l.Err))
	}
	if more := e.Bad - int64(len(e.Lines)); more > 0 {
		all = append(all, fmt.Sprintf("%s: and %s more", e.Path, cli.Plural(int(more), "line")))
	}
	return strings.Join(all, "\n")
}

const (
	maxBadLines = 20
	maxLine     = 64 << 10
	// addNote is the interval at which Add stores and reports its progress.
	addNote = 5 * time.Second
)

// Add adds the seeds of a regular file to the job, one per line; blank lines and lines that begin with # are skipped. It reads the file
// twice: first it only checks the lines, so that nothing is added if a line is invalid. Memory is bounded, whatever the size of the file.
// After an interruption, another call with the same file continues; known seeds are not requested again. note is called every five seconds
// with the number of added seeds and the total; it may be nil.
//
// The error is a *SeedsError, ErrChanged, wraps cluster.ErrOver if the job is over, or is one of [Load], of reading the file, or the
// engine's. Seeds that were sent before the error are crawled nevertheless, possibly after the job is resumed.
func (x *Operator) Add(ctx context.Context, path string, note func(added, of int64)) (Added, error) {
	var res Added
	j, err := Load(ctx, x.Engine)
	if err != nil {
		return res, err
	}
	a, err := cluster.NewAdder(ctx, x.Engine)
	if err != nil {
		return res, err
	}
	judge, err := j.seedJudge()
	if err != nil {
		return res, err
	}
	file, err := safefile.Open(path)
	if err != nil {
		return res, err
	}
	defer func() { _ = file.Close() }() // the file was only read
	bad := &SeedsError{Path: path}
	sum, err := eachLine(file, func(l BadLine, u weburl.URL) error {
		if l.Err == nil {
			l.Err = judge(u)
		}
		if res.Seeds++; l.Err == nil {
			return ctx.Err()
		}
		if bad.Bad++; len(bad.Lines) < maxBadLines {
			bad.Lines = append(bad.Lines, l)
		}
		return ctx.Err()
	})
	switch {
	case err != nil:
		return res, err
	case bad.Bad > 0 || res.Seeds == 0:
		return res, bad
	}
	if res.Order, err = x.ordered(ctx, cluster.Order{
		What: job.ActionAdd, By: x.Name, To: fmt.Sprintf("%s, %s, sha256 %s", filepath.Base(path), cli.Plural(int(res.Seeds), "seed"), sum),
	}); err != nil {
		return res, err
	}
	progress := progressRegister{engine: x.Engine, name: "seeds-" + sum[:32]}
	if res.Known, err = progress.store(ctx, 0, false); err != nil {
		return res, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return res, err
	}
	request, n, noted := j.Config.Crawl.SeedRequest(), int64(0), time.Now()
	again, err := eachLine(file, func(l BadLine, u weburl.URL) error {
		if n++; n <= res.Known {
			return l.Err
		}
		if err := errors.Join(l.Err, ctx.Err()); err != nil {
			return err
		}
		if err := a.Add(ctx, request(u)); err != nil || time.Since(noted) < addNote {
			return err
		}
		err := a.Flush(ctx)
		if err == nil {
			_, err = progress.store(ctx, n, false)
		}
		if noted = time.Now(); err == nil && note != nil {
			note(n, res.Seeds)
		}
		return err
	})
	if err != nil {
		return res, err
	}
	if err := a.Flush(ctx); err != nil {
		return res, err
	}
	if again != sum {
		_, err := progress.store(ctx, 0, true)
		return res, errors.Join(ErrChanged, err)
	}
	_, err = progress.store(ctx, n, false)
	return res, err
}

// ordered returns the number of an order. If the job does not have the order yet, it gives it.
func (x *Operator) ordered(ctx context.Context, o cluster.Order) (int, error) {
	all, err := cluster.LoadOrders(ctx, x.Engine)
	if err != nil {
		return 0, err
	}
	for i := range all {
		if all[i].What == o.What && all[i].To == o.To {
			return all[i].Number, nil
		}
	}
	o, err = cluster.Give(ctx, x.Engine, o)
	return o.Number, err
}

// seedJudge returns a function that reports as an error why a URL cannot be a seed of the job. A seed that a rule of the scope excludes is
// allowed: its visit names the rule, as for the original seeds.
func (j *Job) seedJudge() (func(weburl.URL) error, error) {
	scope, err := j.Config.Crawl.SeedScope(j.Seeds...)
	if err != nil {
		return nil, err
	}
	seed := j.Config.Crawl.SeedRequest()(j.Seeds[0]).Kind
	return func(u weburl.URL) error {
		if j.Config.Crawl.Contact == "" && !job.OnLoopback([]weburl.URL{u}) {
			return ErrNoContact
		}
		if d := scope.JudgeKind(u, seed); !d.In && !d.Firm {
			return fmt.Errorf("%w (%s)", ErrOutside, d.Rule)
		}
		return nil
	}, nil
}

// eachLine calls f for each line that is neither blank nor a comment, with the line's URL or the error of parsing it, until f returns an
// error. It returns the SHA-256 of the whole file.
func eachLine(r io.Reader, f func(l BadLine, u weburl.URL) error) (sum string, err error) {
	h := sha256.New()
	lines, n := bufio.NewScanner(io.TeeReader(r, h)), int64(0)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		n++
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		u, err := weburl.Parse(text)
		if err := f(BadLine{n, job.WithoutSecrets(text), err}, u); err != nil {
			return "", err
		}
	}
	if err := lines.Err(); !errors.Is(err, bufio.ErrTooLong) {
		return hex.EncodeToString(h.Sum(nil)), err
	}
	return "", f(BadLine{n + 1, "", ErrLine}, weburl.URL{})
}

// progressRegister is a register that holds the number of added seeds of a file.
type progressRegister struct {
	engine cluster.Registers
	name   string
}

// store records that n seeds were added, and returns the recorded number. Only with anew can that number decrease.
func (r *progressRegister) store(ctx context.Context, n int64, anew bool) (int64, error) {
	for {
		b, rev, err := r.engine.Load(ctx, r.name)
		if err != nil {
			return 0, err
		}
		var was int64
		if len(b) > 0 {
			if err := json.Unmarshal(b, &was); err != nil {
				return 0, fmt.Errorf("work: the register %s: %w", r.name, err)
			}
		}
		if was >= n && !anew {
			return was, nil
		}
		if b, err = json.Marshal(n); err != nil {
			return 0, fmt.Errorf("work: %w", err)
		}
		if _, err = r.engine.Store(ctx, r.name, b, rev); !errors.Is(err, cluster.ErrConflict) {
			return n, err
		}
	}
}
