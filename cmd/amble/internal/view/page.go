package view

import (
	"strconv"
	"strings"

	"github.com/amble-crawler/amble/cmd/amble/internal/terminal"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
)

// Widths of the columns before the URL, initially and at most, and minimum widths of terminals that show these columns.
const (
	minSize, maxSize = 7, 10  // "1.2 KiB", "1023.9 KiB"
	minType, maxType = 10, 16 // minType fits "text/plain"
	sizeFrom         = 48
	typeFrom         = 72
)

// widths holds the present column widths, which grow with the contents of the columns.
type widths struct {
	size, kind int
	host       string            // host of the previous line
	urls       map[string]string // the last URL of each host, for up to maxHosts hosts
}

// maxHosts limits the number of hosts whose last URL is remembered.
const maxHosts = 1000

// fit widens the columns for a size and a type, if necessary.
func (w *widths) fit(size, kind string) {
	w.size = min(maxSize, max(minSize, w.size, terminal.Width(size)))
	w.kind = min(maxType, max(minType, w.kind, terminal.Width(cli.Printable(kind))))
}

// ShowsPages reports whether stdout is a terminal on which every URL gets a line. Otherwise stdout is for programs.
func (v *View) ShowsPages() bool { return v.outTTY && !v.flags.JSON }

// page prints the line of a visit.
func (v *View) page(visit *crawler.Visit) {
	columns := v.columns()
	v.lines.Lock()
	row := v.widths.row(visit, columns, v.whole)
	v.lines.Unlock()
	text := row.Text(columns-1, v.color)
	if v.whole {
		text = row.Whole(v.color)
	}
	_, _ = v.pages.Write([]byte(text + "\n")) // stdout keeps the error
}

// row returns the line of a visit: status, size, type or outcome, URL and remarks.
func (w *widths) row(v *crawler.Visit, columns int, whole bool) terminal.Row {
	status, style := statusText(v)
	row := terminal.Row{{Text: terminal.Right(status, 3), Style: style}, {Text: "  "}}
	kind, kindStyle := kindText(v)
	w.fit(sizeText(v), kind)
	switch {
	case columns >= typeFrom:
		row = append(row, terminal.Span{Text: terminal.Right(sizeText(v), w.size) + "  "}, terminal.Span{Text: terminal.Left(kind, w.kind) + "  ", Style: kindStyle})
	case v.Outcome != crawler.Fetched:
		row = append(row, terminal.Span{Text: kind + "  ", Style: kindStyle})
	case columns >= sizeFrom:
		row = append(row, terminal.Span{Text: terminal.Right(sizeText(v), w.size) + "  "})
	}
	url, note := v.URL.String(), noteText(v)
	if room := columns - 1 - row.Columns(); !whole {
		if note != "" { // the note takes up to a third of the width
			room -= min(room/3, 2+terminal.Width(cli.Printable(note)))
		}
		host := v.URL.Authority()
		url = terminal.Shorten(url, w.urls[host], host != w.host, room)
		if w.urls == nil || len(w.urls) >= maxHosts {
			w.urls = map[string]string{}
		}
		w.host, w.urls[host] = host, v.URL.String()
	}
	row = append(row, terminal.Span{Text: url})
	if note != "" {
		row = append(row, terminal.Span{Text: "  " + note, Style: terminal.Dim})
	}
	return row
}

func statusText(v *crawler.Visit) (string, terminal.Style) {
	code := v.Status()
	if code == 0 {
		return "-", terminal.Dim
	}
	style := map[int]terminal.Style{2: terminal.Green, 3: terminal.Cyan, 4: terminal.Yellow}[code/100]
	if code >= 500 {
		style = terminal.Red
	}
	return strconv.Itoa(code), style
}

func sizeText(v *crawler.Visit) string {
	if v.Page == nil || v.Outcome != crawler.Fetched {
		return "-"
	}
	return cli.Bytes(int64(len(v.Page.Body)))
}

// kindText returns the media type of a fetched page, or else the outcome.
func kindText(v *crawler.Visit) (string, terminal.Style) {
	switch v.Outcome {
	case crawler.Fetched:
		return v.Page.ContentType, terminal.Plain
	case crawler.Failed:
		return string(v.Outcome), terminal.Red
	case crawler.Redirected, crawler.NotModified:
		return outcomeText(v.Outcome), terminal.Cyan
	}
	return outcomeText(v.Outcome), terminal.Yellow
}

func outcomeText(o crawler.Outcome) string { return strings.ReplaceAll(string(o), "_", " ") }

// noteText returns the target of a redirect, or the reason why a page was not fetched or is incomplete.
func noteText(v *crawler.Visit) string {
	switch {
	case v.Outcome == crawler.Redirected:
		return "-> " + strings.TrimPrefix(v.Location.String(), v.URL.Origin())
	case v.Outcome == crawler.Fetched && v.Reason != "":
		return "cut: " + v.Reason
	case v.Rule != "":
		return v.Rule
	case v.Detail != "":
		return strings.TrimPrefix(v.Detail, string(v.Outcome)+": ")
	}
	return v.Reason
}
