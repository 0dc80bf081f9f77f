package ledger

import (
	"bytes"
	"errors"
)

// Begin returns the chain of an empty ledger, to [Chain.Move] lines into it.
func Begin() Chain { return noLines() }

// errNoChain is the error of Move for a line that has no chain.
var errNoChain = errors.New("ledger: the line has no chain")

// Move appends to b a line of another ledger as the next one of this ledger, with its end: it has another number and another
// chain then. It returns the chain after the line.
func (c Chain) Move(b, line []byte) ([]byte, Chain, error) {
	line = bytes.TrimSuffix(line, []byte("\n"))
	i := bytes.LastIndex(line, []byte(lineMember))
	if _, ok := chainOf(line); !ok || i < 0 {
		return b, c, errNoChain
	}
	own, c := c.append(append(append([]byte(nil), line[:i]...), '}'))
	return append(append(b, own...), '\n'), c, nil
}
