package job

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// eachLine calls f with every whole line of a file and its number from 1, until f returns false. The
// line is valid until f returns.
func (d plainDir) eachLine(name string, f func(n int, line []byte) bool) error {
	file, err := d.open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read
	return eachLine(file, f)
}

// eachLine calls f with every whole line, as plainDir.eachLine does.
func eachLine(in io.Reader, f func(n int, line []byte) bool) error {
	r := bufio.NewReaderSize(in, 1<<20)
	var long []byte
	for n := 1; ; {
		b, err := r.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			long = append(long, b...)
			continue
		case errors.Is(err, io.EOF):
			return nil // an unfinished line is still being written
		case err != nil:
			return err
		}
		if len(long) > 0 {
			b = append(long, b...)
			long = nil
		}
		if !f(n, b) {
			return nil
		}
		n++
	}
}

// member returns "name":"value" as it is written in the lines of a job.
func member(name, value string) []byte {
	b, err := json.Marshal(value)
	if err != nil { // a string never fails
		panic(err)
	}
	return append([]byte(`"`+name+`":`), b...)
}

// has reports whether a line may contain the member. It is fast, and never wrong when it returns false.
func has(line, member []byte) bool { return bytes.Contains(line, member) }
