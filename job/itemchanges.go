package job

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/extsort"
)

// ItemChange is a result that differs between two crawls.
type ItemChange[T any] struct {
	Key    string
	URL    string   // URL of the page that has or had the result
	Before *T       // nil: the result is new
	After  *T       // nil if the result is gone
	Fields []string // JSON names of the fields that differ, sorted; nil if the result is new or gone, or T is not a struct
}

// Changes returns the differences between the results (crawler.Visit.Emit) of the last of jobs and those of the jobs before it,
// ordered by key. key returns the identity of a result, such as an article number; results for which it returns "" are left out.
// If several results have the same key, the last one of the latest crawl counts.
//
// A page that was not modified, failed or was deferred in a crawl keeps the results that it had before. So for a crawl with
// Config.Since, pass all jobs that it builds on: Changes(key, monday, tuesday, wednesday) returns the changes of Wednesday.
//
// Memory is bounded; the rest is in files without a name in the directory for temporary files. The sequence ends after an error:
// of reading a job, of a result that cannot be decoded as T, or if there are fewer than two jobs.
func Changes[T any](key func(T) string, jobs ...*Reader) iter.Seq2[ItemChange[T], error] {
	return func(yield func(ItemChange[T], error) bool) {
		pages, keys := extsort.New("", 0), extsort.New("", 0)
		defer func() { _ = errors.Join(pages.Close(), keys.Close()) }() // temporary files without names: errors of closing do no harm
		err := sortByPage(pages, key, jobs)
		if err == nil {
			err = sortByKey(keys, pages, len(jobs)-1)
		}
		if err != nil {
			yield(ItemChange[T]{}, err)
			return
		}
		for pair, err := range pairs(keys) {
			c := ItemChange[T]{Key: pair.key, URL: pair.url}
			if err == nil {
				c.Before, err = decodeItem[T](pair.before)
			}
			if err == nil {
				c.After, err = decodeItem[T](pair.after)
			}
			if c.Before != nil && c.After != nil {
				c.Fields = differing(pair.before, pair.after)
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// sortByPage adds each answered visit, and behind it its results, in the order of URL, job and visit.
func sortByPage[T any](pages *extsort.Sorter, key func(T) string, jobs []*Reader) error {
	if len(jobs) < 2 {
		return errors.New("job: changes are between two jobs or more")
	}
	for i, r := range jobs {
		var seq uint64
		for v, err := range r.Visits() {
			if err != nil {
				return err
			}
			switch crawler.Outcome(v.Outcome) {
			case crawler.NotModified, crawler.Failed, crawler.Deferred:
				continue
			}
			at := append([]byte(v.URL), 0)
			at = binary.BigEndian.AppendUint32(at, uint32(i))
			at = binary.BigEndian.AppendUint64(at, seq)
			seq++
			if err := pages.Add(binary.BigEndian.AppendUint32(at, 0)); err != nil {
				return err
			}
			for n, data := range v.Data {
				var item T
				if err := json.Unmarshal(data, &item); err != nil {
					return fmt.Errorf("job %s: %s: result %d is no %T: %w", r.Dir(), v.URL, n+1, item, err)
				}
				k := key(item)
				if k == "" {
					continue
				}
				b, err := json.Marshal(item)
				if err != nil {
					return err
				}
				record := binary.BigEndian.AppendUint32(at[:len(at):len(at)], uint32(n+1))
				record = append(binary.AppendUvarint(record, uint64(len(k))), k...)
				if err := pages.Add(append(record, b...)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// sortByKey adds the results that each page had before the last job and has after it, sorted by
// key, then by these two sides, then by visit.
func sortByKey(keys, pages *extsort.Sorter, last int) error {
	var url []byte
	var had, has [][]byte
	flush := func() error {
		for side, items := range [][][]byte{had, has} {
			for _, item := range items { // 4 bytes for the job, 8 for the visit, 4 for the result
				n, width := binary.Uvarint(item[16:])
				k, value := item[16+width:16+width+int(n)], item[16+width+int(n):]
				record := append(bytes.ReplaceAll(k, []byte{0}, []byte{0, 0xff}), 0, 0, byte(side))
				record = append(record, item[:16]...)
				record = append(binary.AppendUvarint(record, uint64(len(url))), url...)
				if err := keys.Add(append(record, value...)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for record, err := range pages.All() {
		if err != nil {
			return err
		}
		end := bytes.IndexByte(record, 0)
		if !bytes.Equal(record[:end], url) {
			if err := flush(); err != nil {
				return err
			}
			url, had, has = bytes.Clone(record[:end]), nil, nil
		}
		rest := record[end+1:]
		newest, result := int(binary.BigEndian.Uint32(rest)) == last, binary.BigEndian.Uint32(rest[12:]) > 0
		switch {
		case result && newest:
			has = append(has, bytes.Clone(rest))
		case result:
			had = append(had, bytes.Clone(rest))
			has = had
		case newest:
			has = nil
		default:
			had, has = nil, nil
		}
	}
	return flush()
}

// itemPair holds the results for one key before and after the last job; nil means none.
type itemPair struct {
	key, url      string
	before, after []byte
}

// pairs returns the results of each key for which they differ.
func pairs(keys *extsort.Sorter) iter.Seq2[itemPair, error] {
	return func(yield func(itemPair, error) bool) {
		var now []byte
		var p itemPair
		differs := func() bool { return !bytes.Equal(p.before, p.after) }
		for record, err := range keys.All() {
			if err != nil {
				yield(p, err)
				return
			}
			end := bytes.Index(record, []byte{0, 0}) + 2
			if !bytes.Equal(record[:end], now) {
				if differs() && !yield(p, nil) {
					return
				}
				now = bytes.Clone(record[:end])
				p = itemPair{key: strings.ReplaceAll(string(now[:end-2]), "\x00\xff", "\x00")}
			}
			side, rest := record[end], record[end+1+16:]
			n, width := binary.Uvarint(rest)
			p.url = string(rest[width : width+int(n)])
			if value := bytes.Clone(rest[width+int(n):]); side == 0 {
				p.before = value
			} else {
				p.after = value
			}
		}
		if differs() {
			yield(p, nil)
		}
	}
}

func decodeItem[T any](b []byte) (*T, error) {
	if b == nil {
		return nil, nil //nolint:nilnil // there is no item
	}
	item := new(T)
	return item, json.Unmarshal(b, item)
}

// differing returns the names of the fields that differ between two JSON objects.
func differing(a, b []byte) []string {
	var before, after map[string]json.RawMessage
	if json.Unmarshal(a, &before) != nil || json.Unmarshal(b, &after) != nil {
		return nil
	}
	all := maps.Clone(before)
	maps.Copy(all, after)
	maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool { return bytes.Equal(before[name], after[name]) })
	return slices.Sorted(maps.Keys(all))
}
