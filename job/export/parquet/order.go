package parquet

import (
	"encoding/binary"
	"math"

	"github.com/amble-crawler/amble/internal/extsort"
	"github.com/amble-crawler/amble/job/export"
)

// ordered calls f with the rows of a table, sorted by the first column, which is text.
func ordered(x *export.Export, t *export.Table, f func([]export.Value) error) error {
	s := extsort.New(x.Temp, 0)
	defer func() { _ = s.Close() }() // a temporary file: an error of closing does no harm
	var b []byte
	err := t.Rows(x, func(row []export.Value) error {
		b = append(append(b[:0], row[0].Text...), 0)
		b = encode(b, row)
		return s.Add(b)
	})
	if err != nil {
		return err
	}
	row := make([]export.Value, len(t.Columns))
	for b, err := range s.All() {
		if err != nil {
			return err
		}
		for len(b) > 0 && b[0] != 0 {
			b = b[1:]
		}
		decode(b[1:], row)
		if err := f(row); err != nil {
			return err
		}
	}
	return nil
}

// encode appends a row to b, for decode.
func encode(b []byte, row []export.Value) []byte {
	for i := range row {
		v := &row[i]
		if !v.Valid {
			b = append(b, 0)
			continue
		}
		b = binary.AppendVarint(append(b, 1), v.Int)
		b = binary.AppendUvarint(b, math.Float64bits(v.Float))
		b = appendText(b, v.Text)
		b = binary.AppendUvarint(b, uint64(len(v.List)))
		for _, s := range v.List {
			b = appendText(b, s)
		}
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// decode decodes a row that encode has encoded.
func decode(b []byte, row []export.Value) {
	r := reader{b}
	for i := range row {
		v := &row[i]
		*v = export.Value{List: v.List[:0]}
		if v.Valid = r.b[0] == 1; !v.Valid {
			r.b = r.b[1:]
			continue
		}
		n, size := binary.Varint(r.b[1:])
		r.b = r.b[1+size:]
		v.Int, v.Float, v.Text = n, math.Float64frombits(r.number()), r.text()
		for range r.number() {
			v.List = append(v.List, r.text())
		}
	}
}

// reader reads the values of an encoded row.
type reader struct{ b []byte }

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.b)
	r.b = r.b[size:]
	return n
}

func (r *reader) text() string {
	n := r.number()
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}
