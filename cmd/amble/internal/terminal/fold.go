package terminal

import (
	"bytes"
	"strings"
)

// Fold wraps lines at words if they are wider than the terminal. Continuation lines are aligned with the last text column of the line if
// this column begins in the first two thirds of the width, otherwise with the line's beginning. A word that is longer than a line, such as
// a URL, stays whole. Fold does not change an unfinished line, or one that moves the cursor.
func Fold(text []byte, columns int) []byte {
	var out []byte
	for line := range bytes.Lines(text) {
		if len(line) <= columns || line[len(line)-1] != '\n' || bytes.ContainsAny(line, "\x1b\r\t") {
			out = append(out, line...)
			continue
		}
		out = append(out, foldLine(strings.TrimRight(string(line), " \n"), columns)+"\n"...)
	}
	return out
}

// foldLine wraps one line, given without its line end.
func foldLine(line string, columns int) string {
	begin := len(line) - len(strings.TrimLeft(line, " "))
	hang, body := begin+2, begin
	for i := begin + 3; i < len(line) && Width(line[:i]) <= columns*2/3; i++ {
		if line[i] != ' ' && line[i-2:i] == "  " {
			hang, body = Width(line[:i]), i
		}
	}
	var b strings.Builder
	b.WriteString(line[:body])
	at, empty := Width(line[:body]), true
	for word := range strings.SplitSeq(line[body:], " ") {
		n := Width(word)
		switch {
		case empty:
		case at+1+n > columns && word == "":
			continue
		case at+1+n > columns && hang+n <= columns:
			text := strings.TrimRight(b.String(), " ") + "\n" + strings.Repeat(" ", hang)
			b.Reset()
			b.WriteString(text)
			at = hang
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at, empty = at+n, false
	}
	return b.String()
}

// Shorten shortens a URL to the given number of columns. It omits as much as needed: first the scheme and, unless host is set, the host;
// then the part shared with an earlier URL of this host, up to the last common folder; and then the end, or the middle if there is no
// shared part.
func Shorten(url, earlier string, host bool, columns int) string {
	if Width(url) <= columns {
		return url
	}
	name, path := SplitURL(url)
	if !host {
		name = ""
	}
	_, was := SplitURL(earlier)
	from := 0
	for from < min(len(path), len(was)) && path[from] == was[from] {
		from++
	}
	from = strings.LastIndexByte(path[:from], '/') + 1
	if room := columns - Width(name); from <= 1 && Width(path) > room && room > 3*len(ellipsis) {
		front, _ := fit(path, (room-len(ellipsis))/3)
		end := len(path)
		for Width(front)+len(ellipsis)+Width(path[end-1:]) <= room {
			end--
		}
		return name + front + ellipsis + path[end:]
	}
	for from > 0 && Width(name)+len("/"+ellipsis)+Width(path[from-1:]) <= columns {
		from--
	}
	switch {
	case from > 0 && host:
		path = "/" + ellipsis + path[from:]
	case from > 0:
		path = ellipsis + path[from:]
	}
	return Row{{Text: name + path}}.Text(columns, false)
}

// SplitURL returns the host of a URL with its port, and the part of the URL after them.
func SplitURL(url string) (host, rest string) {
	_, rest, _ = strings.Cut(url, "://")
	i := strings.IndexByte(rest, '/')
	if i < 0 {
		i = len(rest)
	}
	return rest[:i], rest[i:]
}
