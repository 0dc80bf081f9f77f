package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
)

const (
	blockSize = 256 << 10 // bytes decoded at a time
	maxBlocks = 8         // maximum number of blocks in memory
)

// LineError is an error of a line that cannot be decoded.
type LineError struct {
	Line int // starts at 1
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the cause.
func (e *LineError) Unwrap() error { return e.Err }

// Each decodes each complete line of r and calls use with the result, in order. It stops at the first error: a [LineError], or an error
// of r. The argument of use is valid until use returns. Several goroutines decode lines in advance; each gets a decoding function from
// parser, which is called with lines including their ends. If first is not nil, one goroutine calls it for each decoded line, in order,
// before use.
func Each[T any](r io.Reader, parser func() func([]byte, *T) error, first, use func(*T)) error {
	b := &blocks[T]{from: r, free: make(chan *block[T], maxBlocks), order: make(chan *block[T], maxBlocks), quit: make(chan struct{})}
	for range maxBlocks {
		b.free <- &block[T]{done: make(chan struct{}, 1)}
	}
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), maxBlocks/2) {
		parse := parser()
		workers.Go(func() { b.work(parse) })
	}
	defer workers.Wait()
	defer b.stop()
	order := b.order
	if first != nil {
		order = make(chan *block[T], maxBlocks)
		workers.Go(func() { b.pass(first, order) })
	}
	n := 0
	for c := range order {
		<-c.done
		for i := range c.values[:c.n] {
			use(&c.values[i])
		}
		switch n += c.n; {
		case c.bad != nil:
			return &LineError{n + 1, c.bad}
		case errors.Is(c.err, ErrTooLong):
			return &LineError{n + 1, c.err}
		case c.err != nil:
			return c.err
		}
		b.free <- c
	}
	return nil
}

// blocks manages the blocks of lines that several goroutines read and decode.
type blocks[T any] struct {
	free  chan *block[T] // unused blocks
	order chan *block[T] // blocks that were read, in the order of the lines; closed after the last one
	quit  chan struct{}  // closed to stop the goroutines

	mu    sync.Mutex // guards the fields below
	from  io.Reader
	rest  []byte // incomplete line at the end of the last block that was read
	ended bool
}

// block holds several lines.
type block[T any] struct {
	text   []byte
	values []T           // decoded lines
	n      int           // number of decoded lines
	bad    error         // error of the line after the decoded ones
	err    error         // error of reading after the lines
	done   chan struct{} // receives a value when text is decoded
}

// stop ends the goroutines.
func (b *blocks[T]) stop() {
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
	close(b.free)
	close(b.quit)
}

// pass calls first for the decoded lines of each block, and then sends the block to on.
func (b *blocks[T]) pass(first func(*T), on chan<- *block[T]) {
	defer close(on)
	for {
		select {
		case <-b.quit:
			return
		case c, more := <-b.order:
			if !more {
				return
			}
			<-c.done
			for i := range c.values[:c.n] {
				first(&c.values[i])
			}
			c.done <- struct{}{}
			on <- c // does not block, because on has room for all blocks
		}
	}
}

// work reads and decodes blocks until there are no more lines or quit is closed.
func (b *blocks[T]) work(parse func([]byte, *T) error) {
	for c := range b.free {
		if !b.read(c) {
			return
		}
		c.decode(parse)
		c.done <- struct{}{}
	}
}

// read reads the next lines into c, and sends c to order.
func (b *blocks[T]) read(c *block[T]) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return false
	}
	c.text, c.err = append(c.text[:0], b.rest...), nil
	for whole := 0; whole == 0 && c.err == nil; {
		if len(c.text) >= MaxLine {
			c.text, c.err = c.text[:0], b.pastLine()
			break
		}
		begin := len(c.text)
		c.text = slices.Grow(c.text, blockSize)[:begin+blockSize]
		n, err := io.ReadFull(b.from, c.text[begin:])
		c.text, c.err = c.text[:begin+n], err
		whole = bytes.LastIndexByte(c.text[begin:], '\n') + 1
	}
	end := bytes.LastIndexByte(c.text, '\n') + 1
	b.rest = append(b.rest[:0], c.text[end:]...)
	c.text = c.text[:end]
	if errors.Is(c.err, io.EOF) || errors.Is(c.err, io.ErrUnexpectedEOF) {
		c.err = nil // the last line is incomplete, because it is still being written
		b.ended = true
	}
	b.ended = b.ended || c.err != nil
	b.order <- c // does not block, because order has room for all blocks
	if b.ended {
		close(b.order)
	}
	return true
}

// pastLine reads to the end of a line that is longer than MaxLine. If the line has no end, it is incomplete.
func (b *blocks[T]) pastLine() error {
	buf := make([]byte, blockSize)
	for {
		n, err := b.from.Read(buf)
		switch {
		case bytes.IndexByte(buf[:n], '\n') >= 0:
			return ErrTooLong
		case err != nil:
			return err
		}
	}
}

// decode decodes the lines of a block.
func (c *block[T]) decode(parse func([]byte, *T) error) {
	c.n, c.bad = 0, nil
	for line := range bytes.Lines(c.text) {
		if c.n == len(c.values) {
			var zero T
			c.values = append(c.values, zero)
		}
		if c.bad = parse(line, &c.values[c.n]); c.bad != nil {
			return
		}
		c.n++
	}
}
