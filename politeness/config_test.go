package politeness

import (
	"math"
	"testing"
	"time"
)

func TestRatesAndFactorsMustBeNumbers(t *testing.T) {
	for _, c := range []Config{
		{Rate: math.NaN()}, {Rate: math.Inf(1)}, {Rate: 1e-300}, {DelayFactor: math.Inf(1)}, {DelayFactor: math.NaN()}, {DelayFactor: -0.5},
		{MaxRulesBytes: -2}, {Delay: -2}, {MaxFailures: -2},
	} {
		c.Identity = identity()
		if _, err := NewGate(c); err == nil {
			t.Errorf("%+v accepted", c)
		}
	}
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{DelayFactor: 1e300})
		b.ready("https://a.test/", "")
		if got := time.Until(b.send(b.must("https://a.test/"), time.Second, Reply{Status: 200})); got != DefaultMaxDelay {
			t.Errorf("waits %v", got)
		}
	})
}
