package status

import (
	"strings"
	"testing"
	"time"
)

func TestDelaysAreReadable(t *testing.T) {
	for delay, want := range map[float64]string{0: "0s", 0.000178903: "under 1ms", 0.0123456: "12ms", 0.5: "500ms", 1: "1s", 2.34567: "2.3s", 90: "1m30s"} {
		h := Host{Delay: delay, Clause: "delay"}
		if text := h.waitText(time.Now()); !strings.HasSuffix(text, "; delay "+want) {
			t.Errorf("%v: %s, want %s", delay, text, want)
		}
	}
}

func TestHostThatWaitsForAnotherCrawlNamesIt(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	h := Host{Waits: "shared", Detail: "news", Until: now.Add(3 * time.Second), Delay: 1, Clause: "delay"}
	if text := h.waitText(now); text != "another of your crawls, job news, until 03:04:08 (in 3s); delay 1s" {
		t.Error(text)
	}
}

func TestCollectedJobIsResumedAsAJobOfTheCluster(t *testing.T) {
	s := &Status{Dir: "shops", State: Stopped, Finish: "max_pages", Collected: "cluster job shops"}
	if got := s.stateText(); strings.Contains(got, "amble resume") || !strings.Contains(got, "resume the cluster job shops") {
		t.Error(got)
	}
}
