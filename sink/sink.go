// Package sink is where visits go. A [Sink] takes one [Record] per URL whose fate is final, in the
// order they are given, and can say how far its output is durable, so that after a crash it and the
// crawl's frontier are cut back to the same point.
//
// [JSONL] writes a line for each record. Package sink/warc writes what went over the wire, from
// [Record].Exchange, in the format of web archives. With both, the archive comes first: it puts on
// Record.WARC where it stored the answer, and the line says so.
//
// # A sink of one's own
//
// A [Sink] is four methods, and [Named] a fifth. What they have to do is this; the example OwnSink is
// a whole one for a text file, in 80 lines:
//
//   - Append takes what it needs of the record and keeps it in memory, or hands it on: nothing needs
//     to be durable yet. It never keeps the record or its slices.
//   - Sync makes it durable and returns a number that says how far the output goes: octets of a file,
//     or the highest number of a row. It is called for every commit of the crawl, so it should cost
//     little when nothing was appended.
//   - Restore takes away everything behind such a number. A file is truncated; of a table the rows with
//     higher numbers are deleted, for which each row carries its own. It has to work on whatever a
//     killed process left.
//   - After an error of writing nobody knows what is in the output: every call fails until Restore.
//   - Name is what the crawl keeps the number by, in the same step as the state of the URLs. When the
//     crawl goes on, Restore is called with it. A sink without is kept by its place among the sinks.
//
// An output that cannot take anything back, such as a message queue, can be a sink of crawls that
// never go on: its Restore returns an error. Its readers have to expect a page twice otherwise.
//
// A sink that keeps what went over the wire reads [Record].Exchange, and implements [ExchangeSink] to
// be given requests for robots.txt, too. Nil is no error there: not every visit has an exchange.
//
// Package sink/sinktest tests a sink against each clause of the contract: give it a way to open the
// output in a directory and one to read it back, and call its Run and RunKilled.
package sink

import (
	"context"
	"errors"
)

// Schema names the version of Record's JSON form. It changes when a field changes its meaning or
// goes; new fields do not change it.
const Schema = "amble.visit/1"

// ErrClosed is the error of every call after Close, but of Close itself.
var ErrClosed = errors.New("sink: closed")

// Sink stores records. Its methods are called by one goroutine at a time. Package sink/sinktest has
// a test for each clause:
//
//	S1  The output holds the records in the order they were appended, each once, each whole, and
//	    nothing else.
//	S2  The offset that Sync returns is never smaller than one before. It is the same when nothing
//	    was appended in between, and 0 for an output that nothing was ever appended to.
//	S3  What was appended before a Sync is still in the output when the process is killed after it.
//	S4  Restore to an offset leaves exactly what was appended before the Sync that returned it. Every
//	    offset that was ever returned will do, of earlier runs too, and 0 empties the output.
//	S5  Whatever lies behind the offset goes: further records, a part of one, octets that are none,
//	    wherever the process was killed, be it in Restore.
//	S6  An offset that the output does not reach is refused with an error, and nothing changes.
//	S7  After Restore the output goes on as if what was cut off had never been.
//	S8  After Close the output holds all that was appended. Opened again it goes on behind that.
//	S9  When the output cannot take what it is given (a full disk, a broken pipe), Append or the next
//	    Sync or Close returns an error that wraps the cause. Every later Append and Sync fails, until
//	    the output is restored to an offset or opened again.
//	S10 A place that cannot be written is an error of opening or of the first Append.
//	S11 After Close every call returns ErrClosed, but Close itself, which does nothing.
//	S12 When Append returns, the Record and all it points to is the caller's again. Nothing in it was
//	    changed but the field WARC.
type Sink interface {
	// Append adds a record. The output may be buffered until Sync. After an error the output is only
	// good up to the last offset that Sync returned.
	Append(ctx context.Context, r *Record) error
	// Sync makes everything appended durable and returns the offset up to which it is.
	Sync() (offset int64, err error)
	// Restore cuts the output back to an offset that Sync returned. It is for the time before the
	// first Append, when a crawl goes on after a crash, and for the time after an error.
	Restore(offset int64) error
	// Close makes everything appended durable, if Sync would, and releases the output.
	Close() error
}

// ExchangeSink is a Sink that also keeps exchanges that are no visit: requests for a robots.txt, and
// attempts that were answered but are repeated.
type ExchangeSink interface {
	// AppendExchange adds an exchange, under the terms of Append.
	AppendExchange(ctx context.Context, x *Exchange) error
}

// Named is a Sink that has a name. The sinks of one crawl are told apart by it in the frontier's
// committed offsets, so it is the same whenever the output is opened again, and no other sink of the
// crawl has it. A crawl that goes on after a crash cuts each sink back to the offset under its name.
type Named interface {
	// Name is not empty. It does not change, and may be called at any time, by any goroutine.
	Name() string
}
