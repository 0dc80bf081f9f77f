package export

import (
	"bufio"
	"errors"
	"io"
	"os"
)

// output is a file of an export.
type output struct {
	x *Export
	f *os.File
	*bufio.Writer
}

// create creates a file of the export.
func (x *Export) create(path string) (*output, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	o := &output{x: x, f: f}
	o.Writer = bufio.NewWriterSize(counted{x, f}, 256<<10) // keeps the first error for Flush
	return o, nil
}

// counted counts what is written.
type counted struct {
	x *Export
	w io.Writer
}

func (c counted) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.x.Wrote(int64(n))
	return n, err
}

// finish makes the file durable and closes it, unless an error came before.
func (o *output) finish(err error) error {
	if err == nil {
		err = o.Flush()
	}
	if err == nil {
		err = o.f.Sync()
	}
	return errors.Join(err, o.f.Close())
}

// write creates a file and fills it.
func (x *Export) write(path string, fill func(w *bufio.Writer) error) error {
	o, err := x.create(path)
	if err != nil {
		return err
	}
	return o.finish(fill(o.Writer))
}
