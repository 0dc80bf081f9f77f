package digest

import (
	"slices"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
)

// Series holds counts over time, in steps of the same width.
type Series struct {
	From  time.Time
	Width time.Duration
	Steps []Step
}

// Step is one interval of a Series.
type Step struct {
	Answers [6]int // responses by the first digit of the status; 0: no response
	Found   int    // URLs queued, among those that have an outcome
	Done    int    // URLs that got their outcome
	Pages   int    // of Done, pages fetched
}

// series is a Series that doubles the width of its steps when the crawl outgrows them.
type series struct{ Series }

const (
	maxSteps  = 300
	firstStep = time.Second
)

// at returns the step for a time. Earlier times belong to the first step.
func (s *series) at(t time.Time) *Step {
	if s.From.IsZero() {
		s.From, s.Width = t, firstStep
	}
	for t.Sub(s.From) >= maxSteps*s.Width && s.Width < 1<<60/maxSteps {
		s.double()
	}
	i := min(max(0, int(t.Sub(s.From)/s.Width)), maxSteps-1)
	for len(s.Steps) <= i {
		s.Steps = append(s.Steps, Step{})
	}
	return &s.Steps[i]
}

func (s *series) double() {
	s.Width *= 2
	for i := range s.Steps {
		step := s.Steps[i]
		s.Steps[i] = Step{}
		s.Steps[i/2].add(&step)
	}
	s.Steps = s.Steps[:(len(s.Steps)+1)/2]
}

func (s *Step) add(o *Step) {
	for i, n := range o.Answers {
		s.Answers[i] += n
	}
	s.Found += o.Found
	s.Done += o.Done
	s.Pages += o.Pages
}

func (s *series) answer(e *ledger.Entry) {
	if !e.Ended.IsZero() {
		s.at(e.Ended).Answers[classOf(e.Status)]++
	}
}

func (s *series) visit(v *sink.Record) {
	if !v.Queued.IsZero() {
		s.at(v.Queued).Found++
	}
	if v.Ended.IsZero() {
		return
	}
	step := s.at(v.Ended)
	step.Done++
	if v.Outcome == "fetched" {
		step.Pages++
	}
}

func (s *series) clone() Series {
	c := s.Series
	c.Steps = slices.Clone(c.Steps)
	return c
}

// Mark is a request with its exact times.
type Mark struct {
	Host  string
	Start time.Time
	Took  time.Duration
	Kind  Kind

	Pause time.Duration // time since the previous request of the same process ended; 0: there was none
	Owed  time.Duration // the required pause, which may be longer than Pause
	Held  bool          // Pause was extended by the host, or because of its errors
}

// maxMarks limits the number of Marks.
const maxMarks = 4096
