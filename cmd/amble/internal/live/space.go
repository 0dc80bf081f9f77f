package live

import (
	"math"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
)

// Measuring a directory visits all of its files. It is repeated after measureEvery at the earliest, and takes at most one part in
// measurePart of the time.
const (
	measurePart  = 50
	measureEvery = 5 * time.Second
)

// space measures how much more a crawl may write. It is a prometheus.Collector.
type space struct {
	read func() (job.Space, error)

	mu   sync.Mutex
	next time.Time
	last job.Space
	err  error
}

// now returns the last measurement, after repeating it if it is old.
func (s *space) now() (job.Space, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if began := time.Now(); began.After(s.next) {
		s.last, s.err = s.read()
		end := time.Now()
		s.next = end.Add(max(measureEvery, measurePart*end.Sub(began)))
	}
	return s.last, s.err
}

var (
	spaceUsed    = prometheus.NewDesc("amble_space_used_bytes", "Bytes of the files in the directory of the crawl.", nil, nil)
	spaceLeft    = prometheus.NewDesc("amble_space_left_bytes", "Bytes that the crawl may still write before --min-free or --max-disk ends or pauses it.", nil, nil)
	spaceFull    = prometheus.NewDesc("amble_space_full_seconds", "Time until then at the pace so far; NaN while it is not known, or a store makes room.", nil, nil)
	storeWaiting = prometheus.NewDesc("amble_store_waiting_files", "Finished files that wait for the store.", nil, nil)
	storeBytes   = prometheus.NewDesc("amble_store_waiting_bytes", "Size of the finished files that wait for the store.", nil, nil)
)

// Describe implements prometheus.Collector.
func (s *space) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{spaceUsed, spaceLeft, spaceFull, storeWaiting, storeBytes} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (s *space) Collect(to chan<- prometheus.Metric) {
	now, err := s.now()
	if err != nil { // no metrics, because the space is unknown
		return
	}
	gauge := func(d *prometheus.Desc, v float64) { to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v) }
	left, _ := now.Left()
	gauge(spaceUsed, float64(now.Used))
	gauge(spaceLeft, float64(max(0, left)))
	full := math.NaN()
	if d := now.Lasts(); d > 0 {
		full = d.Seconds()
	}
	gauge(spaceFull, full)
	if now.Stored {
		gauge(storeWaiting, float64(now.WaitingFiles))
		gauge(storeBytes, float64(now.WaitingBytes))
	}
}

// box describes how long the space lasts at the present rate.
func (s *space) box() box {
	b := box{ID: "space", Question: "Is there space?"}
	now, err := s.now()
	if err != nil {
		b.Answer, b.Text = "Not known", cli.Printable(err.Error())
		return b
	}
	left, by := now.Left()
	limit := "--min-free"
	if by == crawler.FinishMaxDisk {
		limit = "--max-disk"
	}
	b.Text = cli.Bytes(now.Used) + " on disk, " + cli.Bytes(max(0, left)) + " more until " + limit
	switch lasts := now.Lasts(); {
	case left <= 0:
		b.Answer, b.Class = "No", "bad"
	case lasts > 0:
		b.Answer = "For " + span(lasts)
	default:
		b.Answer = "Yes"
	}
	if now.Stored {
		b.Text += "; " + plural(now.WaitingFiles, "finished file") + " (" + cli.Bytes(now.WaitingBytes) + ") not in the store yet"
	}
	return b
}
