package status

import (
	"fmt"
	"strings"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/politeness/ledger"
)

// Text returns the status as readable text. The argument most limits the hosts listed; 0: all.
func (s *Status) Text(most int) string {
	var b strings.Builder
	line := func(format string, args ...any) { b.WriteString(cli.Printable(fmt.Sprintf(format, args...)) + "\n") }
	line("%s: %s", s.Dir, s.stateText())
	outcomes := []string{}
	for _, o := range s.Sorted() {
		outcomes = append(outcomes, fmt.Sprintf("%s %d", o, s.Outcomes[o]))
	}
	line("  %s, %s%s", cli.Plural(s.Pages, "page"), cli.Plural(s.Requests, "request"), cli.After(": ", strings.Join(outcomes, ", ")))
	if s.Space != nil {
		line("  %s", s.spaceText())
	}
	if s.Note != "" {
		line("  %s", s.Note)
	}
	if s.NotShared != "" {
		line("  its hosts are shared with no other crawl: %s", s.NotShared)
	}
	if s.Left == 0 {
		return b.String()
	}
	text := fmt.Sprintf("  %s left at %s", cli.Plural(s.Left, "URL"), cli.Plural(s.Hosts, "host"))
	if s.Retry > 0 {
		text += fmt.Sprintf(", %d of them to be tried again", s.Retry)
	}
	line("%s", text)
	if s.Least > 0 {
		line("  at least %s more for these; %s decides", cli.Round(seconds(s.Least)), s.By)
	}
	shown := s.Waiting
	if most > 0 {
		shown = shown[:min(most, len(shown))]
	}
	hosts := cli.NewTable("  ", "host", ">left", ">requests", ">at least", "waits for")
	for i := range shown {
		h := &shown[i]
		hosts.Row(h.Host, h.Left, h.Requests, cli.Round(seconds(h.Least)), h.waitText(s.Now))
	}
	b.WriteString("\n" + hosts.String())
	if more := s.Hosts - len(shown); more > 0 {
		line("  … and %s", cli.Plural(more, "more host"))
	}
	return b.String()
}

// spaceText describes how much the crawl has written, how much more it may write, and how long that lasts.
func (s *Status) spaceText() string {
	left, by := s.Space.Left()
	limit := "disk full"
	if by == crawler.FinishMaxDisk {
		limit = "max-disk of " + cli.Bytes(s.Space.MaxDisk)
	} else if s.Space.MinFree > 0 {
		limit = "min-free of " + cli.Bytes(s.Space.MinFree)
	}
	text := fmt.Sprintf("%s on disk, %s more until %s", cli.Bytes(s.Space.Used), cli.Bytes(max(0, left)), limit)
	if s.SpaceLasts > 0 {
		text += fmt.Sprintf(", in about %s at the pace so far", cli.Duration(seconds(s.SpaceLasts).Round(time.Second)))
	}
	if s.Space.WaitingFiles > 0 {
		text += fmt.Sprintf("; %s (%s) not in the store yet", cli.Plural(s.Space.WaitingFiles, "finished file"), cli.Bytes(s.Space.WaitingBytes))
	}
	return text
}

func (s *Status) stateText() string {
	when := func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 MST") }
	process := fmt.Sprintf("process %d on %s", s.PID, s.Machine)
	if s.Runs > 1 {
		process += fmt.Sprintf(", the %d. of this crawl", s.Runs)
	}
	resume := "resume it with: amble resume " + cli.ShellWord(s.Dir)
	if s.Collected != "" {
		resume = "resume the " + cli.Printable(s.Collected) + ", of which it was collected"
	}
	switch s.State {
	case Running:
		return fmt.Sprintf("running since %s (%s)", when(s.Since), process)
	case Killed:
		return fmt.Sprintf("not running: %s was killed; %s", process, resume)
	case Done:
		return "done " + when(s.Ended) + ", nothing left"
	}
	return fmt.Sprintf("stopped %s (%s%s); %s", when(s.Ended), s.Finish, cli.After(": ", s.Error), resume)
}

// waitText describes what a host waits for.
func (h *Host) waitText(now time.Time) string {
	text := map[string]string{"": "nothing: it may be requested", InFlight: "an answer", GivenUp: "nothing: it was given up", Turn: "its turn"}[h.Waits]
	detail := h.Detail
	if h.Waits == ledger.ClauseShared {
		text, detail = "another of your crawls", ""
		if h.Detail != "" {
			text += ", job " + cli.Printable(h.Detail) + ","
		}
	}
	if text == "" {
		text = strings.ReplaceAll(h.Waits, "_", " ")
	}
	if !h.Until.IsZero() {
		text += fmt.Sprintf(" until %s (in %s)", h.Until.UTC().Format("15:04:05"), cli.Round(h.Until.Sub(now)))
	}
	if detail != "" {
		text += ", " + detail
	}
	text += "; delay " + delayText(seconds(h.Delay))
	if h.Clause != "delay" {
		text += " (" + strings.ReplaceAll(h.Clause, "_", " ") + ")"
	}
	if h.Trouble != "" {
		text += "; last: " + h.Trouble
	}
	return text
}

func delayText(d time.Duration) string {
	if 0 < d && d < time.Millisecond {
		return "under 1ms"
	}
	return cli.Round(d).String()
}
