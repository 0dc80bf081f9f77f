// Package items writes results that are values of a struct type T: [Shards] writes them to files of bounded size, [Table] to a table of a
// SQL database. Both are sinks for the Sinks of a crawler.Config: even if a crawl is killed and resumed, the output has each result once.
//
//	table, err := items.OpenTable[Product](ctx, db, items.PostgreSQL, "products", "site", "sku")
//	config.Sinks = []sink.Sink{table} // a Handler calls v.Emit(product)
//	j, err := job.Start("site", job.Config{Crawl: config}, seed)
//	…
//	_, err = j.Run(ctx)
//	err = errors.Join(err, j.Close(), table.Close(ctx))
//
// A result that is not a T, for example because it has a field that T does not have, is an error of Append, which ends the crawl: nothing
// is lost silently. In JSON lines and CSV, the fields of T have their JSON names. In a table, they have the names of the tag db.
package items

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/amble-crawler/amble/sink"
)

// decode returns the results of a record as values of type T.
func decode[T any](r *sink.Record) ([]T, error) {
	all := make([]T, len(r.Data))
	for i, item := range r.Data {
		d := json.NewDecoder(bytes.NewReader(item))
		d.DisallowUnknownFields()
		if err := d.Decode(&all[i]); err != nil {
			return nil, fmt.Errorf("items: %s: result %d is not a %s: %w", r.URL, i+1, reflect.TypeFor[T](), err)
		}
	}
	return all, nil
}

// field is a field of T, with its name in one of the output forms.
type field struct {
	name  string
	index []int
	typ   reflect.Type
}

// fieldsOf returns the exported fields of T. Fields of an embedded struct count as fields of T. The name of a field comes from the first of
// the tags that it has; without a tag, it is the Go name. The name "-" leaves the field out.
func fieldsOf[T any](tags ...string) ([]field, error) {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("items: %s is no struct", t)
	}
	var all []field
	for _, f := range reflect.VisibleFields(t) {
		name, tagged := "", false
		for _, tag := range tags {
			if text, ok := f.Tag.Lookup(tag); ok && name == "" {
				name, _, _ = strings.Cut(text, ",")
				tagged = name != ""
			}
		}
		embedded := f.Anonymous && !tagged && (f.Type.Kind() == reflect.Struct || f.Type.Kind() == reflect.Pointer)
		if !f.IsExported() || embedded || name == "-" {
			continue
		}
		if !tagged {
			name = f.Name
		}
		all = append(all, field{name, f.Index, f.Type})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("items: %s has no exported fields", t)
	}
	return all, nil
}
