package view

import (
	"strconv"
	"strings"

	"github.com/amble-crawler/amble/cmd/amble/internal/terminal"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
)

// Widths of the columns before the URL, and of the terminals that have room for them.
const (
	sizeWidth = 10 // "1023.9 KiB"
	typeWidth = 16
	sizeFrom  = 48
	typeFrom  = 72
)

// ShowsPages reports whether every URL has a line for a person on stdout, which is a terminal then. Otherwise stdout is for
// programs.
func (v *View) ShowsPages() bool { return v.outTTY && !v.flags.JSON }

// page prints the line of a URL.
func (v *View) page(visit *crawler.Visit) {
	columns := v.columns()
	row := pageRow(visit, columns)
	text := row.Text(columns-1, v.color)
	if v.whole {
		text = row.Whole(v.color)
	}
	_, _ = v.pages.Write([]byte(text + "\n")) // stdout remembers its failure
}

// pageRow returns the line of a URL: status, size, type or outcome, URL, and what there is to say in addition.
func pageRow(v *crawler.Visit, columns int) terminal.Row {
	status, style := statusText(v)
	row := terminal.Row{{Text: terminal.Right(status, 3), Style: style}, {Text: "  "}}
	kind, kindStyle := kindText(v)
	switch {
	case columns >= typeFrom:
		row = append(row, terminal.Span{Text: terminal.Right(sizeText(v), sizeWidth) + "  "}, terminal.Span{Text: terminal.Left(kind, typeWidth) + "  ", Style: kindStyle})
	case v.Outcome != crawler.Fetched:
		row = append(row, terminal.Span{Text: kind + "  ", Style: kindStyle})
	case columns >= sizeFrom:
		row = append(row, terminal.Span{Text: terminal.Right(sizeText(v), sizeWidth) + "  "})
	}
	row = append(row, terminal.Span{Text: v.URL.String()})
	if note := noteText(v); note != "" {
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

// noteText says where a redirect leads, or why a page was not fetched or is not complete.
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
