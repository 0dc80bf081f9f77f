package main

import (
	"fmt"
	"math"
	"testing"
)

// TestEstimatesAreRight draws 2,000 samples from a known population: the mean of the estimates must be the true value, and the error margin
// must cover the true value in about 95 of 100 samples.
func TestEstimatesAreRight(t *testing.T) {
	var population []host
	truth, values := 0.0, map[string]float64{}
	for i := range 300 {
		h := host{fmt.Sprintf("https://h%d.example/", i), []string{"a", "b", "c"}[i%3]}
		v := float64(i*i%17 + 20*(i%3))
		population, values[h.url], truth = append(population, h), v, truth+v
	}
	sum, covered := 0.0, 0
	const samples = 2000
	for seed := range samples {
		list := estimates(draw(population, fmt.Sprint(seed), 30), func(url string) float64 { return values[url] })
		all := list[len(list)-1]
		if len(list) != 4 || all.size != 300 || all.drawn != 90 {
			t.Fatalf("%+v", list)
		}
		sum += all.total
		if math.Abs(all.total-truth) <= 1.96*math.Sqrt(all.variance) {
			covered++
		}
	}
	if mean := sum / samples; math.Abs(mean-truth) > 0.005*truth {
		t.Errorf("in the mean %v, is %v", mean, truth)
	}
	if covered < samples*93/100 || covered > samples*97/100 {
		t.Errorf("the error covers the truth in %d of %d samples", covered, samples)
	}
}

func TestErrorOfOneHost(t *testing.T) {
	list := estimates(draw(people(5), "1", 1), func(string) float64 { return 1 })
	if e := list[0]; e.total != 5 || !math.IsNaN(e.variance) {
		t.Errorf("one of five: %+v", e)
	}
	list = estimates(draw(people(1), "1", 1), func(string) float64 { return 3 })
	if e := list[0]; e.total != 3 || e.variance != 0 {
		t.Errorf("one of one: %+v", e)
	}
}
