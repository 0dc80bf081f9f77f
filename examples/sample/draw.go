package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/weburl"
)

// host is a host of the population.
type host struct{ url, group string }

// drawn is a host with the result of the draw for it.
type drawn struct {
	URL         string  `json:"url"`
	Group       string  `json:"group"`
	Place       int     `json:"place"`       // position of the host in the draw of its group, from 1
	GroupSize   int     `json:"group_size"`  // number of hosts of the group in the population
	Drawn       bool    `json:"drawn"`       // whether the host was drawn: Place is at most the number drawn per group
	Probability float64 `json:"probability"` // probability that a host of the group is drawn; the host's weight is 1/Probability
}

// parseHost makes a host from the fields of a line.
func parseHost(fields []string) (h host, err error) {
	text := fields[0]
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := weburl.Parse(text)
	if err == nil {
		u, err = u.Resolve("/")
	}
	if err != nil {
		return h, err
	}
	if len(fields) > 2 {
		return h, fmt.Errorf("%q: want a host and a group", strings.Join(fields, " "))
	}
	name := strings.TrimSuffix(u.Hostname(), ".")
	h = host{url: u.String(), group: name[strings.LastIndexByte(name, '.')+1:]}
	if len(fields) == 2 {
		h.group = fields[1]
	}
	return h, nil
}

// draw sorts each group by a hash of seed and host, and draws the first per hosts of it. So a host's place depends only on the seed and the
// hosts in the list.
func draw(population []host, seed string, per int) []drawn {
	list := slices.Clone(population)
	slices.SortFunc(list, func(a, b host) int {
		x, y := ticket(seed, a.url), ticket(seed, b.url)
		return cmp.Or(strings.Compare(a.group, b.group), bytes.Compare(x[:], y[:]))
	})
	size := map[string]int{}
	for _, h := range list {
		size[h.group]++
	}
	out := make([]drawn, len(list))
	place := 0
	for i, h := range list {
		if i == 0 || list[i-1].group != h.group {
			place = 0
		}
		place++
		n := size[h.group]
		out[i] = drawn{h.url, h.group, place, n, place <= per, min(1, float64(per)/float64(n))}
	}
	return out
}

func ticket(seed, url string) [sha256.Size]byte { return sha256.Sum256([]byte(seed + "\n" + url)) }
