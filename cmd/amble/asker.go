package main

import (
	"context"
	"errors"
	"time"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// asker asks for robots.txt files through a gate, as a crawl does: one request at a time to a host,
// and the same pauses.
type asker struct {
	gate    *politeness.Gate
	policy  politeness.Config // of gate
	fetcher *fetcher.Fetcher
	heard   map[string]answer // by origin
}

// answer is what came of asking for a robots.txt.
type answer struct {
	info politeness.OriginInfo
	err  error // why there was no answer
}

// newAsker makes an asker for these URLs, whose hosts may have any address: the operator named them.
func newAsker(f *identityFlags, way *networkFlags, policy politeness.Config, urls []weburl.URL) (*asker, error) {
	id, err := f.identity(urls)
	if err != nil {
		return nil, err
	}
	policy.Identity, policy.Contactless = id, id.Contact == ""
	gate, err := politeness.NewGate(policy)
	if err != nil {
		return nil, cli.UsageOf("", err)
	}
	named := map[string]bool{}
	for _, u := range urls {
		named[u.Hostname()] = true
	}
	cfg := fetcher.Config{AllowHosts: func(h string) bool { return named[h] }}
	if err := way.apply(&cfg); err != nil {
		return nil, cli.Exit(cli.ExitUsage, err)
	}
	get, err := fetcher.New(cfg)
	return &asker{gate, policy, get, map[string]answer{}}, err
}

// rules asks for the robots.txt of u's origin, once. The error is why there was no answer; what is
// known then is that nothing may be fetched for now.
func (k *asker) rules(ctx context.Context, u weburl.URL) (politeness.OriginInfo, error) {
	a, ok := k.heard[u.Origin()]
	if !ok {
		a.info, a.err = k.follow(ctx, u)
		k.heard[u.Origin()] = a
	}
	return a.info, a.err
}

// follow asks for a robots.txt with all its redirects.
func (k *asker) follow(ctx context.Context, u weburl.URL) (politeness.OriginInfo, error) {
	for {
		next, known := k.gate.Next(u), k.gate.Origin(u)
		if next == u || known.Unreachable {
			return known, nil
		}
		addr, err := k.fetcher.Resolve(ctx, next)
		if err != nil {
			return k.gate.Origin(u), err
		}
		permit, err := k.gate.Admit(politeness.Request{URL: u, Next: next, Addr: addr})
		var wait *politeness.NotYet
		switch {
		case errors.As(err, &wait):
			if err := sleep(ctx, time.Until(wait.Until)); err != nil {
				return k.gate.Origin(u), err
			}
		case err != nil:
			return k.gate.Origin(u), err
		default:
			status, err := k.ask(ctx, permit)
			info := k.gate.Origin(u)
			if err != nil || info.Unreachable {
				info.Source.Status, info.Source.FetchedAt = status, time.Now()
				return info, err
			}
		}
	}
}

// ask makes the request and returns the answer's status.
func (k *asker) ask(ctx context.Context, p politeness.Permit) (int, error) {
	page, err := k.fetcher.Fetch(ctx, p)
	if err != nil {
		k.gate.Report(p, fetcher.ReplyForError(err))
		return 0, err
	}
	defer page.Release()
	k.gate.Report(p, page.Reply())
	return page.Status, nil
}

// sleep waits for a pause to end, or for ctx.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (k *asker) close() { k.fetcher.Close() }
