package cluster

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

func TestRecordsAreReadAsWritten(t *testing.T) {
	for k := kindOpen; k <= kindClose; k++ {
		r := record{kind: k, epoch: 1 << 40, node: "näme", at: time.Unix(-5, 7), body: []byte{1, 2, 3}}
		got, err := decodeRecord(r.encode())
		if err != nil || !got.at.Equal(r.at) {
			t.Fatalf("%+v, %v", got, err)
		}
		got.at = r.at
		if !reflect.DeepEqual(got, r) {
			t.Errorf("%+v, want %+v", got, r)
		}
	}
	for _, x := range []beat{{}, {1 << 60, true, 1<<64 - 1}} {
		if got, err := decodeBeat(x.encode()); got != x || err != nil {
			t.Errorf("%+v, %v; want %+v", got, err, x)
		}
	}
}

func TestGroupsAreJoinedAsSplit(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{0, 1, 1000, partSize, 3*partSize + 5} {
		group := noise(rng, n)
		bodies := split(group)
		if most := (n + n/1000 + partSize) / partSize; len(bodies) > most+1 {
			t.Errorf("%d bytes are %d records", n, len(bodies))
		}
		for _, b := range bodies {
			if len(b) > partSize {
				t.Errorf("a record of %d bytes", len(b))
			}
		}
		if got, err := join(bytes.Join(bodies, nil)); err != nil || !bytes.Equal(got, group) {
			t.Errorf("%d bytes, %v; want %d", len(got), err, n)
		}
	}
	if _, err := join([]byte{255, 255, 255, 255, 15, 1}); !errors.Is(err, errRecord) {
		t.Errorf("a group that claims 4 GiB: %v", err)
	}
}

func TestOffersAreReadAsWritten(t *testing.T) {
	want := message{from: 7, epoch: 9, links: links(t)}
	got, err := decodeMessage(want.encode())
	if err != nil || got.from != 7 || got.epoch != 9 || !reflect.DeepEqual(got.links, want.links) {
		t.Errorf("%+v, %v\nwant %+v", got, err, want)
	}
	probe := message{from: 1, epoch: 2, probe: 3}
	if got, err := decodeMessage(probe.encode()); err != nil || !reflect.DeepEqual(got, probe) {
		t.Errorf("%+v, %v; want %+v", got, err, probe)
	}
}

func FuzzDecode(f *testing.F) {
	r := record{kind: kindGroup, epoch: 3, node: "n", at: time.Unix(1, 0), body: split([]byte("group"))[0]}
	f.Add(r.encode())
	f.Add((&message{links: links(f)}).encode())
	f.Add((&message{probe: 5}).encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := decodeRecord(b); err == nil {
			_, _ = join(r.body)
			_, _ = decodeBeat(r.body)
		}
		if m, err := decodeMessage(b); err == nil {
			for i := range m.links {
				if err := m.links[i].Validate(); err != nil {
					t.Error(err)
				}
			}
		}
	})
}
