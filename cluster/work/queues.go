package work

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/job"
)

// shardState holds a shard's state at the end of its journal.
type shardState struct {
	segments []job.Segment
	report   *crawler.Report
	left     int    // URLs left in the queue
	commit   uint64 // sequence of the last commit in the journal
}

// queues rebuilds the queues of shards in a directory.
type queues struct {
	engine cluster.Engine
	job    *cluster.Job
	dir    string
	config disk.Config
}

// newQueues returns the queues of a job. They are rebuilt in dir, without their URLs.
func newQueues(e cluster.Engine, j *Job, dir string) *queues {
	return &queues{e, &j.Job, dir, disk.Config{NoURLs: true, CacheSize: 16 << 20, MemTableSize: 4 << 20}}
}

// atOnce is the number of shards that are read concurrently: most of the time is spent waiting for the engine and the disk.
const atOnce = 8

// each calls f with the state of each shard, in order. The error is that of the first shard that cannot be read.
func (q *queues) each(ctx context.Context, f func(shardState)) error {
	type result struct {
		shardState
		err error
	}
	results := make([]chan result, q.job.Shards)
	var reading sync.WaitGroup
	defer reading.Wait()
	begun := 0
	for shard := range results {
		for ; begun < min(shard+atOnce, q.job.Shards); begun++ {
			c, next := make(chan result, 1), begun
			results[next] = c
			reading.Go(func() {
				s, err := q.read(ctx, next)
				c <- result{s, err}
			})
		}
		r := <-results[shard]
		if r.err != nil {
			return r.err
		}
		results[shard] = nil
		f(r.shardState)
	}
	return nil
}

// read rebuilds the queue of a shard, without owning it, and returns its state.
func (q *queues) read(ctx context.Context, shard int) (s shardState, err error) {
	dir := filepath.Join(q.dir, fmt.Sprint(shard))
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	k, err := cluster.Follow(ctx, q.engine, shard, dir, q.config)
	if err != nil {
		return s, err
	}
	s.report, s.commit = new(crawler.Report), k.Mark().Seq
	err = k.Values("", crawler.StoredReport, func(name string, value []byte) error {
		if name != crawler.StoredReport {
			return nil
		}
		var err error
		s.report, err = crawler.ParseStored(value)
		return err
	})
	if err == nil {
		s.segments, err = job.ReadSegments(func(prefix string, f func(string, []byte) error) error { return k.Values("", prefix, f) })
	}
	if err == nil {
		err = k.Hosts(func(h disk.HostCount) {
			if q.job.Shard(h.Host) == shard { // the others moved to another shard at a doubling; the next owner removes them
				s.left += h.Queued + h.Waiting
			}
		})
	}
	if err = errors.Join(err, k.Close()); err != nil {
		return s, fmt.Errorf("shard %d: %w", shard, err)
	}
	return s, nil
}
