package cluster

import (
	"math"
	"testing"
)

// Whatever orders are stored, the rate is at most that of the job, if it has one, and the limit of pages is at least that of the job.
func TestStoredOrdersMakeNoJobFaster(t *testing.T) {
	for _, rate := range []float64{0, 0.5, 10} {
		for _, to := range []float64{-1, 0, 0.1, 0.5, 3, 11, math.Inf(1), math.NaN()} {
			j := Job{Rate: rate, Limits: Limits{Pages: 10}}
			now := j.under([]Order{{What: OrderSet, Key: SetRate, Value: 0.1}, {What: OrderSet, Key: SetRate, Value: to}, {What: OrderSet, Key: EndPages, Value: to}})
			if rate > 0 && !(now.Rate > 0 && now.Rate <= rate) {
				t.Errorf("a rate of %v set to %v: %v", rate, to, now.Rate)
			}
			if now.Limits.Pages < 10 {
				t.Errorf("10 pages set to %v: %d", to, now.Limits.Pages)
			}
		}
	}
}
