package main

import (
	"regexp"
	"strings"
	"unicode"
)

// text adds a text to the line, white space collapsed and what Markdown would take for a mark escaped.
func (w *writer) text(s string) {
	before := ' '
	for i, r := range s {
		if unicode.IsSpace(r) {
			w.gap, before = true, ' '
			continue
		}
		w.begin()
		if r == '_' && !(word(before) && word(next(s[i+1:]))) || strings.ContainsRune("\\`*[<", r) {
			w.line.WriteByte('\\')
		}
		if !unicode.IsControl(r) {
			w.line.WriteRune(r)
		}
		before = r
	}
}

// begin writes what is due before the next letter: white space, the end of a line, marks of emphasis.
func (w *writer) begin() {
	if w.line.Len() == 0 || w.gap || w.broke {
		w.words++
	}
	switch {
	case w.line.Len() == 0:
	case w.broke:
		w.line.WriteByte('\n')
	case w.gap:
		w.line.WriteByte(' ')
	}
	w.gap, w.broke = false, false
	for _, m := range w.marks[len(w.marks)-w.due:] {
		w.line.WriteString(m)
	}
	w.due = 0
}

func word(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// next is the first letter of s, a blank when there is none.
func next(s string) rune {
	for _, r := range s {
		return r
	}
	return ' '
}

// take ends the line and returns it, emphasis closed.
func (w *writer) take() string {
	for i := len(w.marks) - w.due - 1; i >= 0; i-- {
		w.line.WriteString(w.marks[i])
	}
	text := w.line.String()
	w.line.Reset()
	w.marks, w.due, w.gap, w.broke = nil, 0, false, false
	return text
}

// flush writes the gathered line as a paragraph.
func (w *writer) flush() {
	text := w.take()
	if text == "" {
		return
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = escapeStart(l)
		if i < len(lines)-1 {
			lines[i] += "\\" // a hard line break
		}
	}
	w.lines(lines...)
}

// start is what at the beginning of a line makes it something else than a paragraph.
var start = regexp.MustCompile(`^(#{1,6}|[-+]|[0-9]{1,9}[.)])( |$)|^(>|~~~|=+$|-+$)`)

// escapeStart makes a line one of a paragraph, whatever it begins with.
func escapeStart(line string) string {
	at := start.FindStringSubmatchIndex(line)
	switch {
	case at == nil:
		return line
	case at[3] > 0:
		return line[:at[3]-1] + "\\" + line[at[3]-1:]
	}
	return "\\" + line
}

// lines writes a block, each line behind the marks of what it stands in.
func (w *writer) lines(lines ...string) {
	for i, l := range lines {
		if w.out.Len() > 0 {
			w.out.WriteByte('\n')
			if i == 0 && !w.tight() {
				w.out.WriteString(strings.TrimRight(w.prefix(false), " "))
				w.out.WriteByte('\n')
			}
		}
		w.out.WriteString(strings.TrimRight(w.prefix(true)+l, " "))
	}
}

// tight reports whether the next block follows the one before without an empty line.
func (w *writer) tight() bool {
	for _, l := range w.levels {
		if !l.begun {
			return l.tight
		}
	}
	return false
}

// prefix is the marks of a line. One that begins a level takes the level's mark.
func (w *writer) prefix(begin bool) string {
	var b strings.Builder
	for _, l := range w.levels {
		switch {
		case l.begun:
			b.WriteString(l.rest)
		case begin:
			b.WriteString(l.first)
			l.begun = true
		default:
			return b.String()
		}
	}
	return b.String()
}
