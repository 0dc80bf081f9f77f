// Package parquet implements a format of [items.Shards] for column-oriented programs, such as DuckDB, pandas and Spark. It is a separate
// package because its library is large: programs that do not import it do not contain the library.
//
//	shards, err := items.OpenShards("results", "lamps", parquet.Format[Lamp](), items.Bounds{})
//	config.Sinks = []sink.Sink{shards} // a Handler calls v.Emit(lamp)
package parquet

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/amble-crawler/amble/sink/items"
)

// Limits of a row group, which is in memory while it is written: its rows, and their bytes as JSON.
const (
	groupRows  = 128 << 10
	groupBytes = 64 << 20
)

// Format returns the format of Parquet files with the types of T. The tag parquet controls how a column is written, as documented by the
// library github.com/parquet-go/parquet-go: `parquet:"price,optional"`. A field of T without this tag has its JSON name. Columns are
// compressed with Zstandard unless their tag says otherwise.
func Format[T any]() items.Format[T] {
	names, err := namesOf[T]()
	writer := func(w io.Writer) *parquet.GenericWriter[T] {
		options := []parquet.WriterOption{parquet.CreatedBy("amble", "", ""), parquet.Compression(&parquet.Zstd)}
		for _, name := range names {
			options = append(options, name)
		}
		return parquet.NewGenericWriter[T](w, options...)
	}
	return items.Format[T]{Suffix: ".parquet", Err: err,
		Write: func(w io.Writer, rows iter.Seq2[json.RawMessage, error]) error { return write(writer(w), rows) },
		Cut:   func(w io.Writer, file io.ReaderAt, size, n int64) error { return cut(writer(w), names, file, size, n) },
	}
}

// namesOf returns names for the fields without a tag parquet, or an error if T has no schema: in that case the library panics.
func namesOf[T any]() (names []*parquet.StructTagOption, err error) {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("parquet: %s is no struct", t)
	}
	defer func() {
		if why := recover(); why != nil {
			err = fmt.Errorf("parquet: %s: %v", t, why)
		}
	}()
	var options []parquet.SchemaOption
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if _, tagged := f.Tag.Lookup("parquet"); !tagged && name != "" && len(f.Index) == 1 {
			tag := &parquet.StructTagOption{StructTag: reflect.StructTag(fmt.Sprintf("parquet:%q", name)), ColumnPath: []string{f.Name}}
			names, options = append(names, tag), append(options, tag)
		}
	}
	_ = parquet.SchemaOf(new(T), options...)
	return names, nil
}

func write[T any](out *parquet.GenericWriter[T], rows iter.Seq2[json.RawMessage, error]) error {
	n, size := 0, 0
	for row, err := range rows {
		if err != nil {
			return err
		}
		one := make([]T, 1)
		if err := json.Unmarshal(row, &one[0]); err != nil {
			return err
		}
		if _, err := out.Write(one); err != nil {
			return err
		}
		if n, size = n+1, size+len(row); n >= groupRows || size >= groupBytes {
			n, size = 0, 0
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
	return out.Close()
}

func cut[T any](out *parquet.GenericWriter[T], names []*parquet.StructTagOption, file io.ReaderAt, size, n int64) error {
	f, err := parquet.OpenFile(file, size)
	if err != nil {
		return err
	}
	var options []parquet.ReaderOption
	for _, name := range names {
		options = append(options, name)
	}
	in := parquet.NewGenericReader[T](f, options...)
	defer func() { _ = in.Close() }() // opened only for reading
	rows := make([]T, 1000)
	for n > 0 {
		clear(rows)
		k, err := in.Read(rows[:min(n, int64(len(rows)))])
		if _, err := out.Write(rows[:k]); err != nil {
			return err
		}
		if n -= int64(k); n > 0 && (err != nil || k == 0) {
			return errors.Join(fmt.Errorf("parquet: %d more rows were expected", n), err)
		}
	}
	return out.Close()
}
