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
	r := bufio.NewReaderSize(file, 1<<20)
	var long []byte
	for n := 1; ; {
		b, err := r.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			long = append(long, b...)
			continue
		case errors.Is(err, io.EOF):
			return nil // what stands behind the last end of a line is being written
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

// member is "name":"value" as it stands in the lines that this program writes.
func member(name, value string) []byte {
	b, err := json.Marshal(value)
	if err != nil { // a string
		panic(err)
	}
	return append([]byte(`"`+name+`":`), b...)
}

// has reports whether a line has the member. It is quick and never wrong about lines without it.
func has(line, member []byte) bool { return bytes.Contains(line, member) }
