package cluster

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// Errors of every Engine. After any other error of a call that writes, it is unknown whether it took effect.
var (
	// ErrFenced means that another node has appended to the journal, and that nothing was appended.
	ErrFenced = errors.New("cluster: fenced: another node owns the shard")
	// ErrWentBack means that the journal's last record is older than the expected one. Perhaps the server that answered only lags behind; if
	// the error persists, records were lost.
	ErrWentBack = errors.New("cluster: the journal has lost records that were acknowledged")
	// ErrTrimmed means that some of the records to read were trimmed.
	ErrTrimmed = errors.New("cluster: the journal was trimmed")
	// ErrConflict means that another node has stored the register, and that nothing was stored.
	ErrConflict = errors.New("cluster: the register has another revision")
	// ErrNotFound means that there is no file of that name.
	ErrNotFound = errors.New("cluster: no such file")
	// ErrNoAnswer means that no node answers questions for the shard.
	ErrNoAnswer = errors.New("cluster: nobody answers")
)

// Engine stores the data of one cluster job, which runs on many machines. It is independent of crawling. All methods are safe for
// concurrent use, by any number of nodes. Shards are numbered from 0 to 1023, whatever number the job was created with. The clauses:
//
//	E1  Of all Appends to a journal that expect the same last sequence, at most one succeeds; the others return ErrFenced.
//	E2  Acknowledged data survives a restart of any minority of the engine's servers, and of all servers with their disks.
//	E3  Each nonce is stored once: an Append repeated within a minute, with the same nonce and expectation, returns the sequence of
//	    the first, even if others have appended since.
//	E4  An Append without an outcome repeated until its outcome is known is in the journal once, or returns ErrFenced and is not in it.
//	E5  Read returns the records of one journal in order and without holes, up to all that were acknowledged before it began. If
//	    the records that it should begin with were trimmed, it returns ErrTrimmed.
//	E6  Trim never removes the last record, whose sequence the next Append has to expect.
//	E7  An inbox keeps the offers of one sender in the order of its Sends, each until it is dropped. An offer that is sent again with
//	    the same ID may be there twice.
//	E12 PutAside keeps a message beside the inbox, once, however often it is repeated, until the job is deleted. Drop leaves it.
//	E8  Store replaces a register only if the caller knows its revision: of all callers with the same revision, at most one succeeds.
//	E9  Last, Load and the end of Inbox may be stale: their results were true once, but may be outdated. Only Append and
//	    Store decide.
//	E11 Now lies between the beginning and the end of its call, by the clock of Entry.At. Where several servers keep the
//	    journals, At is by one of their clocks.
//	E13 StoreClock replaces a value only if the caller names its current revision, across all jobs. The value stays until its
//	    lifetime ends, unless Era changes.
//	E14 LoadRobots returns a file that was stored by StoreRobots, across all jobs, until its lifetime ends, another file
//	    replaces it or there is no room.
//	E10 Append returns ErrWentBack, and not ErrFenced, if the journal's last record is older than the one expected.
type Engine interface {
	Journals
	Inboxes
	DeadLetters
	Registers
	Files
	Questions
	Clock
	// Clocks returns the data that all jobs of the engine share.
	Clocks() ClockStore
}

// Nonce identifies a record of a journal. The appender chooses it at random.
type Nonce = [16]byte

// Entry is a record of a journal, or an offer in an inbox.
type Entry struct {
	Seq   uint64    // increases, not always by 1; never 0
	Nonce Nonce     // identifies a record; zero in an inbox
	Data  []byte    // contents, as given by the caller
	At    time.Time // time of storage, by the engine's clock
}

// Journals holds the journals that the owners of shards write.
type Journals interface {
	// Append adds a record of at most 900 KiB to a journal and returns the sequence of the new record, which is durable then. last is the
	// sequence of the last record, 0 if there is none. The error is ErrFenced, ErrWentBack or the context's. After any other error the outcome
	// is unknown: then the same Append must be repeated.
	Append(ctx context.Context, shard int, n Nonce, data []byte, last uint64) (seq uint64, err error)
	// Last returns the last record of a journal, the zero Entry if it has none.
	Last(ctx context.Context, shard int) (Entry, error)
	// Read yields the records with a sequence greater than after, 0 for all. The first error ends the iteration.
	Read(ctx context.Context, shard int, after uint64) iter.Seq2[Entry, error]
	// Trim removes the records with a sequence below the given one, except the last record.
	Trim(ctx context.Context, shard int, below uint64) error
}

// Inboxes transport links between shards.
type Inboxes interface {
	// Send puts an offer of at most 900 KiB into a shard's inbox. The offer is durable when Send returns nil.
	Send(ctx context.Context, shard int, id string, offer []byte) error
	// Inbox yields the offers that are present and have a sequence greater than after. The first error ends the iteration.
	Inbox(ctx context.Context, shard int, after uint64) iter.Seq2[Entry, error]
	// Watch calls f when an offer arrives in a shard's inbox, until stop is called. f must return quickly. Calls are hints: f may be
	// called before Inbox has the offer, more than once, or not at all.
	Watch(shard int, f func()) (stop func(), err error)
	// Drop removes all offers up to and including the sequence through.
	Drop(ctx context.Context, shard int, through uint64) error
}

// DeadLetters are messages of inboxes that no owner can read. They are kept for inspection.
type DeadLetters interface {
	// PutAside stores a message of a shard's inbox under the sequence that it has there. The message is durable when PutAside returns nil.
	PutAside(ctx context.Context, shard int, message Entry) error
	// Aside yields the messages of a shard's inbox that were put aside, as first stored, with the time of storage. It ends with the first
	// error.
	Aside(ctx context.Context, shard int) iter.Seq2[Entry, error]
}

// Registers are small values that many nodes change. A name consists of letters, digits and hyphens.
type Registers interface {
	// Load returns a value and its revision; nil and 0 if there is none.
	Load(ctx context.Context, name string) (value []byte, rev uint64, err error)
	// Store replaces the value that has this revision, 0 if there is no value yet, and returns the new revision. The error is ErrConflict or
	// the context's; after any other error the outcome is unknown.
	Store(ctx context.Context, name string, value []byte, rev uint64) (uint64, error)
}

// Files stores snapshots of the shards' queues.
type Files interface {
	// Put stores a file of any size and replaces a file of the same name. An incomplete file is never visible.
	Put(ctx context.Context, name string, r io.Reader) error
	// Get opens a file. The error is ErrNotFound if there is none.
	Get(ctx context.Context, name string) (io.ReadCloser, error)
	// Delete removes a file if it exists.
	Delete(ctx context.Context, name string) error
}

// Questions are messages between nodes that are not stored.
type Questions interface {
	// Ask returns the answer of the node that has called Answer for a shard. The error is ErrNoAnswer, the context's or the engine's.
	Ask(ctx context.Context, shard int, question []byte) (answer []byte, err error)
	// Answer lets f answer the questions to a shard until stop is called. f must return quickly; it may be called concurrently.
	Answer(shard int, f func(question []byte) (answer []byte)) (stop func(), err error)
}

// ClockStore holds the data that all jobs of an engine share ([Clocks]): clocks, which are registers with a lifetime that the engine
// may keep only in memory; and robots.txt files.
type ClockStore interface {
	Clock
	RobotsStore
	// LoadClock returns a value and its revision; nil and 0 if there is none.
	LoadClock(ctx context.Context, key string) (value []byte, rev uint64, err error)
	// StoreClock replaces the value that has this revision, 0 if there is no value yet, and returns the new revision. The value is removed
	// after the time life, or soon afterwards. The error is ErrConflict or the context's; after any other error the outcome is unknown.
	StoreClock(ctx context.Context, key string, value []byte, rev uint64, life time.Duration) (uint64, error)
	// Era returns a number that increases whenever the engine has lost the clocks, such as after a restart of all of its servers, and the
	// time, by Now, at which the last loss was noticed; the zero Time if no clocks were ever lost.
	Era(ctx context.Context) (era uint64, since time.Time, err error)
}

// RobotsStore holds the robots.txt files that all jobs of an engine share. Names consist of letters and digits. The engine limits the
// total size of all files and drops the oldest.
type RobotsStore interface {
	// LoadRobots returns the file of that name, nil if there is none.
	LoadRobots(ctx context.Context, name string) ([]byte, error)
	// StoreRobots stores a file of at most 900 KiB and replaces a file of the same name. It is removed soon after the time life.
	StoreRobots(ctx context.Context, name string, file []byte, life time.Duration) error
}

// Clock is the engine's clock.
type Clock interface {
	// Now returns the present time by the engine's clock.
	Now(ctx context.Context) (time.Time, error)
}
