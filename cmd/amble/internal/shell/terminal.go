package shell

import (
	"bufio"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// promptText is the prompt for interactive input.
const promptText = "amble> "

// LinesOf returns the lines of r as input, without a prompt.
func LinesOf(r io.Reader) Lines {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	return plainLines{s}
}

type plainLines struct{ *bufio.Scanner }

// ReadLine implements Lines.
func (l plainLines) ReadLine() (string, error) {
	if l.Scan() {
		return l.Text(), nil
	}
	if err := l.Err(); err != nil {
		return "", err
	}
	return "", io.EOF
}

// Prompted returns the lines of r as input, and prints a prompt to out before each. It is for terminals without control sequences.
func Prompted(r io.Reader, out io.Writer) Lines { return promptedLines{LinesOf(r), out} }

type promptedLines struct {
	Lines
	out io.Writer
}

// ReadLine implements Lines.
func (l promptedLines) ReadLine() (string, error) {
	if _, err := io.WriteString(l.out, promptText); err != nil {
		return "", err
	}
	return l.Lines.ReadLine()
}

// Terminal reads lines with editing, a history, and completion of command names by the tab key.
type Terminal struct {
	in   *os.File
	t    *term.Terminal
	mu   sync.Mutex
	was  *term.State // state of the terminal before editing; nil while no line is edited
	left bool
}

// NewTerminal returns the Terminal of a process. in and out must be the same terminal.
func NewTerminal(in *os.File, out io.Writer) *Terminal {
	t := &Terminal{in: in, t: term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{in, out}, promptText)}
	t.t.AutoCompleteCallback = complete
	return t
}

// ReadLine implements Lines. Ctrl-C and Ctrl-D end the input.
func (t *Terminal) ReadLine() (string, error) {
	if err := t.edit(); err != nil {
		return "", err
	}
	defer t.Restore()
	return t.t.ReadLine()
}

func (t *Terminal) edit() (err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.left {
		return io.EOF
	}
	if width, height, err := term.GetSize(int(t.in.Fd())); err == nil && width > 0 {
		_ = t.t.SetSize(width, height) // SetSize writes nothing before the prompt
	}
	t.was, err = term.MakeRaw(int(t.in.Fd()))
	return err
}

// Restore restores the terminal to its state before editing. It may be called at any time.
func (t *Terminal) Restore() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.was != nil {
		_ = term.Restore(int(t.in.Fd()), t.was) // an error cannot be handled
		t.was = nil
	}
}

// Leave restores the terminal for good: no more lines can be read.
func (t *Terminal) Leave() {
	t.Restore()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left = true
}

// complete completes the command word at the beginning of a line.
func complete(line string, pos int, key rune) (string, int, bool) {
	if key != '\t' || strings.Contains(line[:pos], " ") {
		return "", 0, false
	}
	var found []string
	for _, name := range Names() {
		if strings.HasPrefix(name, line[:pos]) {
			found = append(found, name)
		}
	}
	if len(found) != 1 {
		return "", 0, false
	}
	return found[0] + " " + line[pos:], len(found[0]) + 1, true
}
