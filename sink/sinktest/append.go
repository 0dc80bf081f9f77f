package sinktest

import (
	"context"
	"strings"
	"time"

	"github.com/amble-crawler/amble/sink"
)

func recordsInOrder(k *kit) {
	s := k.open()
	urls := k.add(s, 20)
	k.sync(s)
	k.want(false, urls...)
	urls = append(urls, k.add(s, 20)...)
	k.close(s)
	k.want(true, urls...)
}

// recordsOfEveryShape appends records that are hard to encode.
func recordsOfEveryShape(k *kit) {
	s := k.open()
	var urls []string
	for _, change := range []func(r *sink.Record){
		func(r *sink.Record) { r.Title, r.Error = "line\nline\r\n\x00\x1f", "\xff\xfe\u2028<&>\"\\" },
		func(r *sink.Record) { r.Title = strings.Repeat("long ", 1<<18) },
		func(r *sink.Record) {
			r.Hops, r.Directives = []string{"http://a.test/", "http://b.test/\n"}, []string{}
		},
		func(r *sink.Record) { r.Links, r.Bytes = &sink.LinkCount{Found: 1 << 40}, -1 },
		func(r *sink.Record) { r.Exchange.Body = []byte(strings.Repeat("\x00\xff", 1<<18)) },
		func(r *sink.Record) { r.Exchange.Request, r.Exchange.Truncated = nil, "length" },
		func(r *sink.Record) { r.Exchange.Started, r.Exchange.Ended = time.Time{}, time.Time{} },
		func(r *sink.Record) { r.URL += "?q=%C3%A9&x=%00;~"; r.Exchange.URL = r.URL },
	} {
		r := k.record()
		change(r)
		if err := s.Append(context.Background(), r); err != nil {
			k.Fatalf("Append: %v", err)
		}
		urls = append(urls, r.URL)
	}
	k.close(s)
	k.want(true, urls...)
}

// recordIsTheCallers changes a record and all data that it points to, right after Append returns.
func recordIsTheCallers(k *kit) {
	s := k.open()
	var urls []string
	for range 10 {
		r := k.record()
		before := *r
		urls = append(urls, r.URL)
		if err := s.Append(context.Background(), r); err != nil {
			k.Fatalf("Append: %v", err)
		}
		after := *r
		after.WARC = before.WARC
		if after.URL != before.URL || after.Exchange != before.Exchange || after.Depth != before.Depth || after.Outcome != before.Outcome {
			k.Fatalf("Append made %+v of %+v", after, before)
		}
		for _, b := range [][]byte{r.Exchange.Request, r.Exchange.Head, r.Exchange.Body, r.Exchange.Payload()} {
			for i := range b {
				b[i] = '!'
			}
		}
		*r.Exchange, *r = sink.Exchange{}, sink.Record{}
	}
	k.close(s)
	k.want(true, urls...)
}

func closeKeeps(k *kit) {
	s := k.open()
	urls := k.add(s, 3)
	k.sync(s)
	urls = append(urls, k.add(s, 3)...)
	k.close(s)
	k.want(true, urls...)
}

func reopenAppends(k *kit) {
	var urls []string
	for range 4 {
		s := k.open()
		urls = append(urls, k.add(s, 3)...)
		k.close(s)
		k.want(true, urls...)
	}
}

func closeEmpty(k *kit) {
	k.close(k.open())
	s := k.open()
	urls := k.add(s, 1)
	k.close(s)
	k.want(true, urls...)
}

func closedIsErrClosed(k *kit) {
	s := k.open()
	urls := k.add(s, 2)
	k.close(s)
	_, errSync := s.Sync(k.Context())
	for call, err := range map[string]error{"Append": s.Append(context.Background(), k.record()), "Sync": errSync, "Restore": s.Restore(k.Context(), 0)} {
		if !is(err, sink.ErrClosed) {
			k.Errorf("%s after Close: %v", call, err)
		}
	}
	if err := s.Close(k.Context()); err != nil {
		k.Errorf("a second Close: %v", err)
	}
	k.want(true, urls...)
}

// canceled calls methods with contexts that have ended.
func canceled(k *kit) {
	ended, cancel := context.WithCancel(k.Context())
	cancel()
	s := k.open()
	urls := k.add(s, 3)
	committed := k.sync(s)
	more := k.add(s, 3)
	switch offset, err := s.Sync(ended); {
	case err == nil && offset <= committed:
		k.Errorf("Sync %d, as before 3 records", offset)
	case err == nil:
		urls = append(urls, more...)
		committed = offset
	case !is(err, context.Canceled):
		k.Errorf("Sync: %v, want one that wraps context.Canceled", err)
	}
	if err := s.Restore(ended, committed); err != nil && !is(err, context.Canceled) {
		k.Errorf("Restore: %v, want one that wraps context.Canceled", err)
	}
	k.restore(s, committed)
	k.want(false, urls...)
	if err := s.Close(ended); err != nil && !is(err, context.Canceled) {
		k.Errorf("Close: %v, want one that wraps context.Canceled", err)
	}
	if err := s.Append(k.Context(), k.record()); !is(err, sink.ErrClosed) {
		k.Errorf("Append after Close: %v", err)
	}
	k.want(true, urls...)
}
