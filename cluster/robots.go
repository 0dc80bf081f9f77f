package cluster

import (
	"context"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/amble-crawler/amble/politeness"
)

// maxRobots limits the size of a robots.txt file that is stored, in bytes. Each crawl requests larger files itself.
const maxRobots = 900 << 10

// Robots implements politeness.Sharing. It asks the engine, for at most a few seconds. Without an answer, the crawl must request the file
// itself; for that it needs a turn, which it cannot get while the engine is unreachable.
func (k *Clocks) Robots(key politeness.RobotsKey) (politeness.RobotsFile, bool) {
	ctx, cancel := context.WithTimeout(k.ctx, 2*patience)
	defer cancel()
	if k.Err() != nil || k.look(ctx) != nil {
		return politeness.RobotsFile{}, false
	}
	key.Account = k.account(key.Account)
	b, err := k.store.LoadRobots(ctx, robotsName(key))
	if err != nil {
		return politeness.RobotsFile{}, false
	}
	f, ok := politeness.DecodeRobotsFile(b, key)
	o, now := k.offset.Load(), time.Now()
	f.Fetched, f.Until = f.Fetched.Add(o.Ahead), f.Until.Add(o.Ahead-o.Error)
	if f.Fetched.After(now) && !f.Fetched.After(now.Add(2*o.Error)) {
		f.Fetched = now
	}
	f.Fetched, f.Until = f.Fetched.Truncate(time.Microsecond), f.Until.Truncate(time.Microsecond)
	return f, ok && !f.Fetched.After(now) && f.Until.After(now)
}

// KeepRobots implements politeness.Sharing. It converts times to the engine's clock. A file that cannot be stored will be requested again.
func (k *Clocks) KeepRobots(key politeness.RobotsKey, f politeness.RobotsFile) {
	stored, origin := make(chan struct{}), key.Origin
	k.mu.Lock()
	k.files[origin] = stored
	k.mu.Unlock()
	k.tasks.Go(func() {
		ctx, cancel := context.WithTimeout(k.ctx, 2*patience)
		defer cancel()
		o, life := k.offset.Load(), time.Until(f.Until)
		f.Fetched, f.Until = f.Fetched.Add(-o.Ahead), f.Until.Add(-o.Ahead-o.Error)
		key.Account = k.account(key.Account)
		if b := f.Encode(key); len(b) <= maxRobots && life > 0 {
			_ = k.store.StoreRobots(ctx, robotsName(key), b, life) // on failure the file is requested again
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		if close(stored); k.files[origin] == stored {
			delete(k.files, origin)
		}
	})
}

// robotsName returns the name of a file in the engine.
func robotsName(key politeness.RobotsKey) string {
	sum := sha256.Sum256([]byte(key.Origin + "\n" + key.Account))
	return hex.EncodeToString(sum[:16])
}

// account returns the ID of an account for the engine. The account may be a digest of a password, so computing an ID is slow: readers of
// the engine cannot test many guesses.
func (k *Clocks) account(digest string) string {
	if digest == "" {
		return ""
	}
	if name, ok := k.accounts.Load(digest); ok {
		return name.(string) //nolint:forcetypeassert // nothing else is stored
	}
	b, err := pbkdf2.Key(sha256.New, digest, []byte("robots.txt accounts"), 200_000, 16)
	if err != nil { // happens only for invalid parameters
		n := newNonce()
		b = n[:]
	}
	name := hex.EncodeToString(b)
	k.accounts.Store(digest, name)
	return name
}
