// Package sink defines the outputs of a crawl. A [Sink] gets one [Record] for each URL whose outcome is final, in order, and reports how
// much of its output is durable. So after a crash, the output and the crawl's frontier can return to the same point.
//
// [JSONL] writes a line for each record. Package sink/warc writes requests and responses as sent and received, from [Record].Exchange, in
// the format of web archives. In a crawl with both, the archive must come first: it sets Record.WARC to the place of the response, which
// then is part of the line.
//
// # A custom sink
//
// A sink embeds [Base] and has the methods Append, Sync, Restore and Close. The example OwnSink is a complete sink for a text file,
// in 80 lines. The methods must do the following:
//
//   - Append copies what it needs of the record and keeps it in memory, or writes it: nothing must be durable
//     yet. It never keeps the record or its slices.
//   - Sync makes the output durable and returns a number that says how far it reaches: the length of a file, or the
//     highest number of a row. It is called for every commit of the crawl, so it should be cheap if nothing was
//     appended.
//   - Restore removes everything after such a number. A file is truncated; in a table, whose rows carry the numbers,
//     the rows with higher numbers are deleted. It must work on whatever a killed process left.
//   - After a failed write nobody knows what is in the output: every call fails until Restore.
//   - Name is the key under which the crawl stores the number, together with the state of the URLs. When the crawl
//     resumes, it calls Restore with that number. For a sink without a name, the key is its place among the sinks.
//
// A crawl that is canceled still syncs its sinks. The context of that Sync ends after a minute, and a sink on a network should give up
// then: when the crawl resumes, it requests its last URLs again.
//
// An output that cannot remove anything, such as a message queue, can be a sink of crawls that are never resumed: its Restore returns an
// error. If such a crawl is resumed nevertheless, readers of the output must expect pages twice.
//
// A sink that stores requests and responses sets Needs.Exchanges, and reads [Record].Exchange. It implements AppendExchange to get requests
// for robots.txt, too. A nil Exchange is not an error: not every visit has one.
//
// Package sink/sinktest tests a sink against each clause of the contract. Call its Run and RunKilled with a function that opens the output
// in a directory, and one that reads the output.
package sink

import (
	"context"
	"errors"
)

// Schema names the version of Record's JSON form. It changes if the meaning of a field changes or a field is removed, but not if fields are
// added.
const Schema = "amble.visit/1"

// ErrClosed is returned by every method after Close, except Close.
var ErrClosed = errors.New("sink: closed")

// Sink stores records. Its methods are called by one goroutine at a time. Package sink/sinktest has a test for each
// clause:
//
//	S1  The output contains the records in the order they were appended, each once, each complete, and nothing
//	    else.
//	S2  The offset that Sync returns never decreases. It is unchanged if nothing was appended in between, and 0
//	    for an output to which nothing was ever appended.
//	S3  What was appended before a Sync is still in the output if the process is killed after it.
//	S4  Restore to an offset leaves exactly what was appended before the Sync that returned it. Every offset that
//	    was ever returned is valid, including those of earlier runs, and 0 empties the output.
//	S5  Restore removes whatever is after the offset: records, a part of one, foreign bytes, wherever the process
//	    was killed, even in Restore.
//	S6  An offset after the end of the output is refused with an error, and nothing changes.
//	S7  After Restore the output continues as if what was cut off had never been appended.
//	S8  After Close the output contains all that was appended. If it is opened again, it continues after that.
//	S9  If the output cannot be written (a full disk, a broken pipe), Append or the next Sync or Close returns an
//	    error that wraps the cause. Every later Append and Sync fails until the output is restored to an offset or
//	    opened again.
//	S10 If the output may not be written, opening it or the first Append returns an error.
//	S11 After Close every method returns ErrClosed, except Close, which does nothing.
//	S12 When Append returns, the Record and all it points to belongs to the caller again. Nothing in it was
//	    changed except the fields WARC of it and of its Rendered.
//	S13 If the context of Sync or Restore has ended, the call does what it does otherwise, or returns an error that
//	    wraps the context's error. After such an error, Restore with another context works. Close always closes.
type Sink interface {
	// Append adds a record. The output may be buffered until Sync. After an error, the output is valid only up to the last offset that Sync
	// returned.
	Append(ctx context.Context, r *Record) error
	// AppendExchange adds an exchange that is not a visit, under the same conditions as Append: a request for a robots.txt, or a response
	// after which the URL is requested again. It is called only if Needs().Exchanges is set.
	AppendExchange(ctx context.Context, x *Exchange) error
	// Needs returns the data that the sink reads. The result never changes.
	Needs() Needs
	// Name returns the name under which the frontier stores the committed offsets of the sink. It must be the same whenever the output is
	// opened again, and unique among the sinks of the crawl: a crawl that resumes after a crash restores each sink to the offset under its
	// name. For "", the name is the sink's position among the sinks. Name may be called at any time, by any goroutine.
	Name() string
	// Sync makes everything appended so far durable and returns the offset of its end. It may give up when ctx ends.
	Sync(ctx context.Context) (offset int64, err error)
	// Restore cuts the output back to an offset that Sync returned. It is called before the first Append, when a crawl resumes
	// after a crash, and after an error. It may give up when ctx ends: Restore can then be repeated.
	Restore(ctx context.Context, offset int64) error
	// Close makes everything appended durable, if Sync does, and closes the output, even if ctx has ended.
	Close(ctx context.Context) error
}

// Needs describes the data that a Sink reads in addition to the fields that every Record has. Data that no sink of a crawl needs is
// not collected.
type Needs struct {
	Exchanges bool // Record.Exchange and AppendExchange: requests and responses as sent and received
	Links     bool // Record.Outlinks: the links of pages
}

// Base implements the optional methods of a Sink, for a sink that only takes records and has no name. A sink embeds Base and replaces the
// methods that it needs. A wrapper instead embeds the Sink that it wraps, and so has its other methods.
type Base struct{}

// AppendExchange does nothing.
func (Base) AppendExchange(context.Context, *Exchange) error { return nil }

// Needs returns the zero Needs.
func (Base) Needs() Needs { return Needs{} }

// Name returns "".
func (Base) Name() string { return "" }
