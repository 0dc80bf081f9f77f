package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/robots"
)

// hours are the parts of the day in which requests may be made.
func (f *paceFlags) hours() (politeness.Hours, error) {
	var all politeness.Hours
	for _, text := range f.Hours {
		w, err := window(text)
		if err != nil {
			return nil, cli.Usage("--hours %q: want parts of the day in UTC such as 22:00-06:00", text)
		}
		all = append(all, w)
	}
	return all, nil
}

// window reads HH:MM-HH:MM, which may span midnight.
func window(text string) (robots.Window, error) {
	from, to, ok := strings.Cut(text, "-")
	start, err := clock(from)
	end, err2 := clock(to)
	if !ok || err != nil || err2 != nil || start == end {
		return robots.Window{}, fmt.Errorf("%q is no part of the day", text)
	}
	return robots.Window{From: start, To: end}, nil
}

// clock is a time of day as the time since midnight.
func clock(text string) (time.Duration, error) {
	t, err := time.Parse("15:04", strings.TrimSpace(text))
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, err
}
