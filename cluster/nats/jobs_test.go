package nats

import (
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/amble-crawler/amble/cluster"
)

// List and Delete tell jobs apart even if the name of one job looks like that of another job's stream.
func TestJobsAreListedAndDeleted(t *testing.T) {
	s := start(t, 1)
	config := func(job string) Config { return Config{URLs: s.urls(), Job: job, Shards: 16, Replicas: 1} }
	for _, name := range []string{"shops", "shops_CTL", "shops_LOG_0", "half"} {
		create(t, config(name))
		if name == "half" {
			continue
		}
		e, err := Connect(t.Context(), config(name))
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if err := cluster.Create(t.Context(), e, cluster.Job{Shards: 16}); err != nil {
			t.Fatal(err)
		}
	}
	e, err := Connect(t.Context(), config("shops_CTL"))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := cluster.Give(t.Context(), e, cluster.Order{What: cluster.OrderDrain}); err != nil {
		t.Fatal(err)
	}
	list := func() (all string) {
		t.Helper()
		found, err := List(t.Context(), Config{URLs: s.urls()})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range found {
			all += x.Name + " " + x.End
			if !x.Whole {
				all += "cut off"
			} else if x.Shards != 16 || x.Bytes == 0 || x.Made.IsZero() {
				t.Errorf("%+v", x)
			}
			all += ", "
		}
		return all
	}
	if got := list(); got != "half cut off, shops , shops_CTL stopped, shops_LOG_0 , " {
		t.Errorf("jobs: %s", got)
	}
	for _, name := range []string{"shops", "half"} {
		if err := Delete(t.Context(), config(name)); err != nil {
			t.Error(err)
		}
		if err := Delete(t.Context(), config(name)); !errors.Is(err, ErrNoJob) {
			t.Errorf("deleted again: %v", err)
		}
	}
	if got := list(); got != "shops_CTL stopped, shops_LOG_0 , " {
		t.Errorf("jobs: %s", got)
	}
	if err := e.js.DeleteStream(t.Context(), "AMBLE_shops_CTL_CTL"); err != nil { // as if a Delete had been interrupted
		t.Fatal(err)
	}
	if got := list(); got != "shops_CTL cut off, shops_LOG_0 , " {
		t.Errorf("jobs: %s", got)
	}
	for _, name := range []string{"shops_CTL", "shops_LOG_0"} {
		if err := Delete(t.Context(), config(name)); err != nil {
			t.Error(err)
		}
	}
	left(t, e.js)
}

// left checks that no stream of the tested jobs is left.
func left(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	names := js.StreamNames(t.Context())
	for name := range names.Name() {
		if strings.Contains(name, "shops") || strings.Contains(name, "half") {
			t.Errorf("stream %s is left", name)
		}
	}
	if err := names.Err(); err != nil {
		t.Error(err)
	}
}
