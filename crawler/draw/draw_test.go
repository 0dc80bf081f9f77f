package draw_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/amble-crawler/amble/crawler/draw"
)

// TestTicket compares with openssl: printf %s https://site.example/a | openssl dgst -sha256 -hmac 42
func TestTicket(t *testing.T) {
	if got := fmt.Sprintf("%016x", draw.Ticket("42", "https://site.example/a")); got != "a26c724561def63d" {
		t.Errorf("ticket %s", got)
	}
}

func urls(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("https://site.example/%d", i)
	}
	return list
}

func of(n int, seed string, list ...string) *draw.Bottom {
	b := &draw.Bottom{N: n, Seed: seed}
	for _, u := range list {
		b.Add(u, u, "")
	}
	return b
}

// TestUniform draws 20 of 200 URLs with 2,000 seeds. Each URL is drawn about equally often (chi-square with 199 degrees
// of freedom, corrected for draws without replacement), whatever its place in the list.
func TestUniform(t *testing.T) {
	const size, n, seeds = 200, 20, 2000
	list := urls(size)
	count := map[string]int{}
	for seed := range seeds {
		drawn := of(n, fmt.Sprint(seed), list...).Drawn()
		if len(drawn) != n {
			t.Fatalf("%d drawn", len(drawn))
		}
		for _, it := range drawn {
			count[it.URL]++
		}
	}
	expected, sum := float64(seeds*n)/size, 0.0
	for _, u := range list {
		d := float64(count[u]) - expected
		sum += d * d / expected
	}
	sum *= float64(size-1) / (size - n)
	if z := (sum - (size - 1)) / math.Sqrt(2*(size-1)); math.Abs(z) > 3 {
		t.Errorf("chi-square %.1f of %d degrees of freedom: %.1f standard deviations off", sum, size-1, z)
	}
}

// TestMerge randomly splits a list with repetitions into samples and merges them in any order. The result is the sample
// of the whole list.
func TestMerge(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		list := urls(rng.IntN(100))
		n := 1 + rng.IntN(30)
		all := append(list, list[:len(list)/3]...)
		want := of(n, "s", all...)
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		parts := make([]*draw.Bottom, 1+rng.IntN(5))
		for i := range parts {
			parts[i] = of(n, "s")
		}
		for _, u := range all {
			parts[rng.IntN(len(parts))].Add(u, u, "")
		}
		got := of(n, "s")
		for _, p := range parts {
			b, err := json.Marshal(p)
			p = &draw.Bottom{}
			if err = errors.Join(err, json.Unmarshal(b, p), got.Merge(p)); err != nil {
				t.Fatal(err)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("merged %v\nwant   %v", got, want)
		}
	}
	if err := of(3, "a").Merge(of(3, "b")); !errors.Is(err, draw.ErrOther) {
		t.Error(err)
	}
}

// TestSpellings offers a URL in two spellings and from two lists. The URL counts as one item, in either order.
func TestSpellings(t *testing.T) {
	a, b := &draw.Bottom{N: 2}, &draw.Bottom{N: 2}
	a.Add("x", "%78", "l2")
	a.Add("x", "x", "l1")
	b.Add("x", "x", "l1")
	b.Add("x", "%78", "l2")
	if !reflect.DeepEqual(a, b) || len(a.Items) != 1 || a.Listed != 2 {
		t.Errorf("%+v\n%+v", a, b)
	}
}

// TestProbability: weights of 1/Probability give an unbiased estimate of the number of URLs, even if lists repeat URLs.
func TestProbability(t *testing.T) {
	list := urls(500)
	list = append(list, list[:250]...)
	sum := 0.0
	const seeds = 1000
	for seed := range seeds {
		b := of(50, fmt.Sprint(seed), list...)
		below, all := b.Bound()
		for _, it := range b.Drawn() {
			if all || it.Ticket >= below {
				t.Fatal("drawn beyond the bound")
			}
		}
		sum += float64(len(b.Drawn())) / b.Probability()
	}
	if mean := sum / seeds; math.Abs(mean-500) > 500*3/math.Sqrt(50*seeds)*1.5 {
		t.Errorf("in the mean %.1f URLs of 500", mean)
	}
	if b := of(500, "", list...); b.Probability() != 1 || len(b.Drawn()) != 500 {
		t.Errorf("%v of %d", b.Probability(), len(b.Drawn()))
	}
}
