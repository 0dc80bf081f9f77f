// Package parquet exports jobs as Parquet files, for DuckDB, pandas, Spark and other programs that read columns. Its library
// is large, so this kind has a separate package.
//
//	r, err := job.Read("site")
//	defer r.Close()
//	_, err = export.Write(ctx, r, parquet.Kind(), "tables", nil) // one file for each table
package parquet

import (
	"bufio"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/amble-crawler/amble/job/export"
)

// Schema is the version of the columns. It is in the metadata of each file as amble.schema.
const Schema = "amble.export/1"

// Kind returns the kind parquet: a directory with a file for each of export.Tables except problems. Times are timestamps in UTC
// with microseconds. Visits are sorted by url_surtkey, in row groups of 128 Ki, so that a query for one host reads few row
// groups. A list without elements is empty rather than null.
func Kind() export.Kind {
	return export.Kind{
		Name: "parquet", Doc: "Parquet files for DuckDB, pandas, Spark, …", Suffix: "-parquet", Dir: true, Tables: export.Tables(),
		Write: func(x *export.Export) error {
			return export.EachTable(x, export.Tables(), func(t *export.Table) error {
				if t.Part {
					return nil
				}
				return file(x, t)
			})
		},
	}
}

// Limits of a row group, on rows and on bytes of text. A row group is in memory until it is written.
const (
	groupRows  = 128 << 10
	groupBytes = 64 << 20
)

// dictionary lists the columns with few distinct values.
var dictionary = []string{
	"url_host_name", "url_host_registered_domain", "url_protocol", "content_mime_type", "content_charset", "content_truncated", "warc_filename", "outcome", "reason",
	"rule", "run", "purpose", "host", "domain", "addr", "agent", "clause", "override", "signed", "truncated", "kind", "fate", "rendered", "rendered_cut",
	"site", "language", "declared_language", "licence", "warc",
}

// schemaOf returns the schema of a table. The fields of a struct keep their order.
func schemaOf(t *export.Table) *parquet.Schema {
	var fields []reflect.StructField
	for i, c := range t.Columns {
		tag := c.Name + ",zstd"
		if c.Type == export.List {
			tag += ",list"
		} else {
			tag += ",optional"
		}
		if slices.Contains(dictionary, c.Name) {
			tag += ",dict"
		}
		if c.Type == export.Time {
			tag += ",timestamp(microsecond)"
		}
		fields = append(fields, reflect.StructField{Name: "F" + string(rune('A'+i/26)) + string(rune('A'+i%26)), Type: goType(c.Type), Tag: reflect.StructTag(`parquet:"` + tag + `"`)})
	}
	return parquet.NewSchema(t.Name, parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface()))
}

func goType(t export.Type) reflect.Type {
	switch t {
	case export.Int:
		return reflect.TypeFor[int64]()
	case export.Float:
		return reflect.TypeFor[float64]()
	case export.Bool:
		return reflect.TypeFor[bool]()
	case export.Time:
		return reflect.TypeFor[time.Time]()
	case export.List:
		return reflect.TypeFor[[]string]()
	}
	return reflect.TypeFor[string]()
}

// file writes a table to a Parquet file.
func file(x *export.Export, t *export.Table) error {
	return x.WriteFile(filepath.Join(x.Path, t.Name+".parquet"), func(w *bufio.Writer) error { return rows(x, t, w) })
}

func rows(x *export.Export, t *export.Table, out io.Writer) error {
	w := NewWriter(out, t)
	read := t.Rows
	if t.Columns[0].Name == "url_surtkey" {
		read = func(x *export.Export, f func([]export.Value) error) error { return ordered(x, t, f) }
	}
	if err := read(x, w.Write); err != nil {
		return err
	}
	return w.Close()
}

// Writer writes the rows of a table to a Parquet file. It is not safe for concurrent use.
type Writer struct {
	w     *parquet.GenericWriter[any]
	t     *export.Table
	row   parquet.Row
	n     int // rows in the row group
	bytes int // bytes of text in the row group
}

// NewWriter returns a Writer of a table to out. It uses only the table's name and columns. If the first column is url_surtkey,
// rows must be sorted by it.
func NewWriter(out io.Writer, t *export.Table) *Writer {
	options := []parquet.WriterOption{
		schemaOf(t), parquet.KeyValueMetadata("amble.schema", Schema), parquet.CreatedBy("amble", "", ""), parquet.PageBufferSize(64 << 10), parquet.WriteBufferSize(256 << 10),
	}
	if t.Columns[0].Name == "url_surtkey" {
		options = append(options, parquet.SortingWriterConfig(parquet.SortingColumns(parquet.Ascending("url_surtkey"))))
	}
	return &Writer{w: parquet.NewGenericWriter[any](out, options...), t: t}
}

// Write writes a row, a value for each column.
func (w *Writer) Write(values []export.Value) error {
	w.row = appendRow(w.row[:0], w.t, values)
	if _, err := w.w.WriteRows([]parquet.Row{w.row}); err != nil {
		return err
	}
	for i := range values {
		w.bytes += len(values[i].Text)
	}
	if w.n++; w.n%groupRows == 0 || w.bytes > groupBytes {
		w.bytes = 0
		return w.w.Flush()
	}
	return nil
}

// Close completes the file. It does not close the underlying writer.
func (w *Writer) Close() error { return w.w.Close() }

// appendRow appends the values with their definition levels: 1 means that a value is present.
func appendRow(row parquet.Row, t *export.Table, values []export.Value) parquet.Row {
	for i := range values {
		v := &values[i]
		switch {
		case !v.Valid:
			row = append(row, parquet.NullValue().Level(0, 0, i))
		case t.Columns[i].Type == export.List:
			for k, s := range v.List {
				row = append(row, parquet.ByteArrayValue([]byte(s)).Level(min(k, 1), 1, i))
			}
		default:
			row = append(row, valueOf(v, t.Columns[i].Type).Level(0, 1, i))
		}
	}
	return row
}

func valueOf(v *export.Value, t export.Type) parquet.Value {
	switch t {
	case export.Int, export.Time:
		return parquet.Int64Value(v.Int)
	case export.Float:
		return parquet.DoubleValue(v.Float)
	case export.Bool:
		return parquet.BooleanValue(v.Int != 0)
	}
	return parquet.ByteArrayValue([]byte(v.Text))
}
