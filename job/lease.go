package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/amble-crawler/amble/stores"
)

const (
	leaseTime  = 3 * time.Minute // if the lease is older, the job may be resumed elsewhere
	leaseEvery = leaseTime / 3
)

// lease is the content of lease.json: the process that crawls the job in a store, or crawled it last.
type lease struct {
	Place   string    `json:"place"` // random ID of the directory
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Renewed time.Time `json:"renewed"`
	Ended   bool      `json:"ended,omitempty"`
}

// errMoved is wrapped by the error for a directory whose job was resumed elsewhere.
var errMoved = errors.New("the job was resumed elsewhere")

// readLease reads the lease in a store, nil if there is none. An invalid lease counts as one without a holder.
func readLease(ctx context.Context, s stores.Store) (*lease, error) {
	b, err := getUpTo(ctx, s, leaseName, 1<<20)
	if missingFile(err) {
		return nil, nil //nolint:nilnil // nobody has ever crawled the job, or it is finished
	}
	if err != nil {
		return nil, err
	}
	l := &lease{}
	if json.Unmarshal(b, l) != nil {
		l = &lease{}
	}
	return l, nil
}

// held returns an error if a process is crawling the job.
func (l *lease) held(url string) error {
	age := time.Since(l.Renewed)
	if l.Ended || age >= leaseTime || age <= -leaseTime { // a lease from the far future must not block the job
		return nil
	}
	return refusedAs(ErrHeld, "the job in %s is being worked on by process %d on %s: end that; if it was killed, or its machine is lost, try again in %v",
		url, l.PID, l.Host, (leaseTime - age).Round(time.Second))
}

// mayClaim returns an error if the job is crawled, or was resumed, in another directory than this one.
func (u *uploads) mayClaim(ctx context.Context) error {
	l, err := readLease(ctx, u.store)
	switch {
	case err != nil || l == nil || l.Place == "" || l.Place == u.list.Place:
		return err
	case l.Place == u.list.From:
		return l.held(u.list.Store)
	}
	return l.moved(u.j.dir)
}

func (l *lease) moved(dir string) error {
	return fmt.Errorf("%w, by process %d on %s: what %s has is older, and cannot be crawled any more", errMoved, l.PID, l.Host, dir)
}

// ours returns an error if the job was resumed elsewhere since the prefix was claimed.
func (u *uploads) ours(ctx context.Context) error {
	l, err := readLease(ctx, u.store)
	if err != nil || l == nil || l.Place == "" || l.Place == u.known().Place {
		return err
	}
	return l.moved(u.j.dir)
}

// renew records in the store that this process crawls the job, or has ended.
func (u *uploads) renew(ctx context.Context, ended bool) error {
	host, _ := os.Hostname() // "" if it is unknown
	b, err := json.Marshal(lease{u.known().Place, os.Getpid(), host, time.Now().UTC(), ended})
	if err != nil {
		return err
	}
	return putBytes(ctx, u.store, leaseName, append(b, '\n'))
}

// keepLease renews the lease until ctx ends. It ends the crawl if the job was resumed elsewhere.
func (u *uploads) keepLease(ctx context.Context) {
	tick := time.NewTicker(leaseEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		u.mu.Lock()
		claimed := u.claimed
		u.mu.Unlock()
		if !claimed {
			continue
		}
		err := u.ours(ctx)
		if err == nil {
			err = u.renew(ctx, false)
		}
		if errors.Is(err, errMoved) {
			u.moved(err)
			return
		}
	}
}

// moved ends the crawl, because another process crawls the job.
func (u *uploads) moved(err error) {
	u.say(fmt.Sprintf("%v: the crawl ends", err))
	u.j.crawler.Drain()
}

// endLease writes to the store that the process no longer crawls. It does not wait long, because the lease also expires.
func (u *uploads) endLease(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if u.claimed && u.ours(ctx) == nil {
		_ = u.renew(ctx, true)
	}
}
