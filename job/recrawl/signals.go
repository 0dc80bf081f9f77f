package recrawl

// Signals is what is known of the signals of one host: announcements that a page has changed, by the lastmod of a sitemap
// or the date of a feed's entry. They are believed as far as they were right before. Busa-Fekete, Zimmert, György, Qiu and
// others (2025) and Kolobov, Peres, Lubetzky and Horvitz ("Staying up to date with online content changes using
// reinforcement learning for scheduling", NeurIPS 2019) treat such signals as noisy, with a precision and a recall. The zero
// value knows nothing and believes nothing.
type Signals struct {
	Right  int `json:"right"`  // signals after which the page had changed
	Wrong  int `json:"wrong"`  // signals after which it had not
	Missed int `json:"missed"` // changes of pages that signals are given of, without a signal before
}

// trials is how many signals, or changes, must have been judged before anything is believed.
const trials = 5

// Precision returns the part of the signals that were right, as the mean of a Beta distribution that begins with one right
// and one wrong signal.
func (s Signals) Precision() float64 {
	return float64(s.Right+1) / float64(s.Right+s.Wrong+2)
}

// Recall returns the part of the changes that a signal announced, likewise.
func (s Signals) Recall() float64 {
	return float64(s.Right+1) / float64(s.Right+s.Missed+2)
}

// Believed reports whether a page with a signal is requested at once: at least half of the signals were right.
func (s Signals) Believed() bool { return s.Right+s.Wrong >= trials && s.Precision() >= 0.5 }

// Silent returns the part of the changes of a page that come without a signal, which visits without one have to find: 1
// unless signals are believed.
func (s Signals) Silent() float64 {
	if !s.Believed() || s.Right+s.Missed < trials {
		return 1
	}
	return 1 - s.Recall()
}

// judge notes what the visit after a signal, or without one, has shown.
func (s *Signals) judge(signalled, hasChanged bool) {
	switch {
	case signalled && hasChanged:
		s.Right++
	case signalled:
		s.Wrong++
	case hasChanged:
		s.Missed++
	}
}
