package sinktest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/amble-crawler/amble/sink"
)

// random executes random operations and compares the output with a model, which is a list.
func random(k *kit) {
	runs, seed := k.suite.Runs, k.suite.Seed
	if runs == 0 {
		runs = 50
	}
	if seed == 0 {
		seed = 1
	}
	for i := range uint64(runs) {
		k.dir = k.TempDir()
		m := &model{kit: k, r: rand.New(rand.NewPCG(seed+i, 0)), marks: []mark{{}}, s: k.open()}
		for range 60 {
			m.step()
			if k.Failed() {
				break
			}
		}
		k.close(m.s)
		if k.Failed() {
			k.Fatalf("Seed %d:\n%v", seed+i, m.log)
		}
	}
}

type model struct {
	*kit
	r     *rand.Rand
	s     sink.Sink
	urls  []string
	marks []mark
	log   []string
}

func (m *model) step() {
	n := m.r.IntN(4)
	switch op := m.r.IntN(10); {
	case op < 4:
		m.log = append(m.log, fmt.Sprintf("append %d", n))
		m.urls = append(m.urls, m.add(m.s, n)...)
	case op < 7:
		m.mark()
	case op < 8:
		m.log = append(m.log, "close, open")
		m.close(m.s)
		m.check(true)
		m.s = m.open()
	case op < 9:
		m.log = append(m.log, "kill")
		m.lay(m.snapshot())
		_ = m.s.Close(context.Background()) // closes the sink in the previous directory
		m.s = m.open()
		m.back(len(m.marks) - 1)
	default:
		m.back(m.r.IntN(len(m.marks)))
	}
}

// mark syncs the sink and stores the offset.
func (m *model) mark() {
	offset := m.sync(m.s)
	m.log = append(m.log, fmt.Sprintf("sync %d", offset))
	if last := m.marks[len(m.marks)-1]; offset < last.offset || offset == last.offset && len(m.urls) != len(last.urls) {
		m.Errorf("Sync %d with %d records, after %d with %d", offset, len(m.urls), last.offset, len(last.urls))
	}
	m.marks = append(m.marks, mark{offset, slices.Clone(m.urls)})
	m.check(false)
}

// back restores the sink to the i-th mark and discards later marks.
func (m *model) back(i int) {
	to := m.marks[i]
	m.log = append(m.log, fmt.Sprintf("restore %d", to.offset))
	m.restore(m.s, to.offset)
	m.marks, m.urls = m.marks[:i+1], slices.Clone(to.urls)
	m.check(false)
}

func (m *model) check(closed bool) {
	got, err := m.suite.Read(m.dir, closed)
	if err != nil || !slices.Equal(got, m.urls) {
		m.Errorf("the output holds %v, want %v, error %v", got, m.urls, err)
	}
}
