package live

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/amble-crawler/amble/job"
)

func TestSpaceIsForecast(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		space        job.Space
		err          error
		answer, text string
	}{
		{job.Space{Free: 300 * mib, Used: 100 * mib, Taken: time.Hour}, nil, "For 3 h", "100.0 MiB on disk, 300.0 MiB more until --min-free"},
		{job.Space{Free: 300 * mib, Used: 110 * mib, MaxDisk: 100 * mib, Taken: time.Hour}, nil, "No", "0 B more until --max-disk"},
		{job.Space{Free: 300 * mib, Used: 100 * mib, Taken: time.Hour, Stored: true}, nil, "Yes", "0 finished files (0 B) not in the store yet"},
		{job.Space{Free: 300 * mib, Used: 100 * mib, Taken: time.Hour, Stored: true, WaitingFiles: 2, WaitingBytes: mib}, nil, "For 3 h", "2 finished files (1.0 MiB) not in the store yet"},
		{job.Space{}, errors.New("no disk"), "Not known", "no disk"},
	} {
		s := &space{read: func() (job.Space, error) { return c.space, c.err }}
		if b := s.box(); !strings.HasPrefix(b.Answer, c.answer) || !strings.Contains(b.Text, c.text) {
			t.Errorf("%+v: %q, %q; want %q, %q", c.space, b.Answer, b.Text, c.answer, c.text)
		}
	}
}

func TestSpaceIsMeasured(t *testing.T) {
	s := &space{read: func() (job.Space, error) {
		return job.Space{Free: 300, Used: 100, Taken: time.Hour, Stored: true, WaitingFiles: 2, WaitingBytes: 50}, nil
	}}
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(s)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		got[f.GetName()] = f.GetMetric()[0].GetGauge().GetValue()
	}
	want := map[string]float64{
		"amble_space_used_bytes": 100, "amble_space_left_bytes": 300, "amble_space_full_seconds": 10800, "amble_store_waiting_files": 2, "amble_store_waiting_bytes": 50,
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestSpaceIsMeasuredSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		s := &space{read: func() (job.Space, error) {
			n++
			time.Sleep(time.Second)
			return job.Space{}, nil
		}}
		for range 102 {
			_, _ = s.now()
			time.Sleep(time.Second)
		}
		if n != 2 {
			t.Errorf("%d times in 102 s, want 2", n)
		}
	})
}
