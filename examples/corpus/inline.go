package main

import (
	"regexp"
	"strings"
	"unicode"
)

// text adds a text to the line, with white space collapsed and everything escaped that Markdown would treat as
// markup.
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

// begin writes what must precede the next letter: white space, the end of a line, marks of emphasis.
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

// next returns the first letter of s, or a blank if there is none.
func next(s string) rune {
	for _, r := range s {
		return r
	}
	return ' '
}

// take ends the line and returns it, with emphasis closed.
func (w *writer) take() string {
	for i := len(w.marks) - w.due - 1; i >= 0; i-- {
		w.line.WriteString(w.marks[i])
	}
	text := w.line.String()
	w.line.Reset()
	w.marks, w.due, w.gap, w.broke = nil, 0, false, false
	return text
}

// flush writes the collected line as a paragraph.
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

// start matches what at the beginning of a line makes it something other than a paragraph.
var start = regexp.MustCompile(`^(#{1,6}|[-+]|[0-9]{1,9}[.)])( |$)|^(>|~~~|=+$|-+$)`)

// escapeStart makes a line a paragraph, whatever it begins with.
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

// lines writes a block, each line after the marks of its containers.
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

// tight reports whether the next block follows the previous one without an empty line.
func (w *writer) tight() bool {
	for _, l := range w.levels {
		if !l.begun {
			return l.tight
		}
	}
	return false
}

// prefix returns the marks of a line. The first line of a level takes the level's mark.
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
