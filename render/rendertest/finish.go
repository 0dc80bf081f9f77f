package rendertest

import (
	"context"
	"fmt"
	"time"

	"github.com/amble-crawler/amble/render"
)

// Rounder runs rounds: a Fake, or a browser.
type Rounder interface {
	Round(context.Context, render.Task) (*render.Result, error)
}

// Finish takes a rendering from its first round to its last. What is missing is requested from fetch, which answers or
// gives a reason code. The clock that Policy's limits go by is the time in now, which may be called at any time.
func Finish(ctx context.Context, r Rounder, x *render.Rendering, now func() time.Time,
	fetch func(render.Want) (*render.Answer, string)) (*render.Result, error) {
	for {
		res, err := r.Round(ctx, x.Task("amble-test/1", now()))
		if err != nil {
			return nil, err
		}
		if x.Took(res) {
			return res, nil
		}
		asked := 0
		for want, ok := x.Next(now()); ok; want, ok = x.Next(now()) {
			if a, reason := fetch(want); a != nil {
				x.Answered(want, a, now())
			} else {
				x.Refused(want, reason)
			}
			asked++
		}
		if x.Rounds() > 1000 {
			return nil, fmt.Errorf("rendertest: no end after %d rounds; the last wanted %d answers", x.Rounds(), asked)
		}
	}
}
