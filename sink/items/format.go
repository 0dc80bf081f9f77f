package items

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/amble-crawler/amble/sink"
)

// Format describes how [Shards] writes a file: [JSONL], [CSV], or Parquet of package sink/items/parquet.
type Format[T any] struct {
	// Suffix is the end of the names of files, such as ".jsonl".
	Suffix string
	// Write writes a complete file with rows, each the JSON of a T. It stops at the first error of rows and returns it.
	Write func(w io.Writer, rows iter.Seq2[json.RawMessage, error]) error
	// Cut writes a complete file with the first n rows of file, which has size bytes.
	Cut func(w io.Writer, file io.ReaderAt, size, n int64) error
	// Err is not nil if the format cannot express T. [OpenShards] returns it.
	Err error
}

// JSONL returns the format of files with one JSON object per line.
func JSONL[T any]() Format[T] {
	_, err := fieldsOf[T]("json")
	return Format[T]{Suffix: ".jsonl", Write: func(w io.Writer, rows iter.Seq2[json.RawMessage, error]) error {
		return through(w, rows, func(w io.Writer) sink.Sink { return sink.NewItems(w) })
	}, Cut: cutLines, Err: err}
}

// CSV returns the format of files with a row for each result, after a row with the names of the fields. Cells have the form of [sink.CSV]:
// text that a spreadsheet would execute has an apostrophe in front.
func CSV[T any]() Format[T] {
	fields, err := fieldsOf[T]("json")
	var columns []string
	for _, f := range fields {
		columns = append(columns, f.name)
	}
	return Format[T]{Suffix: ".csv", Write: func(w io.Writer, rows iter.Seq2[json.RawMessage, error]) error {
		return through(w, rows, func(w io.Writer) sink.Sink { return sink.NewCSV(w, columns...) })
	}, Cut: cutCSV, Err: err}
}

// through writes rows to w by a sink, which open returns for a buffer of w.
func through(w io.Writer, rows iter.Seq2[json.RawMessage, error], open func(io.Writer) sink.Sink) error {
	buffer := bufio.NewWriterSize(w, 256<<10)
	out := open(buffer)
	for row, err := range rows {
		if err != nil {
			return err
		}
		if err := out.Append(context.Background(), &sink.Record{Data: []json.RawMessage{row}}); err != nil {
			return err
		}
	}
	return buffer.Flush()
}

func cutLines(w io.Writer, file io.ReaderAt, size, n int64) error {
	end, err := endOfLine(io.NewSectionReader(file, 0, size), n)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, io.NewSectionReader(file, 0, end))
	return err
}

// endOfLine returns the offset of the end of the n-th line.
func endOfLine(r io.Reader, n int64) (end int64, err error) {
	lines := bufio.NewReaderSize(r, 256<<10)
	for range n {
		for more := true; more; {
			part, err := lines.ReadSlice('\n')
			end += int64(len(part))
			if more = errors.Is(err, bufio.ErrBufferFull); err != nil && !more {
				return 0, fmt.Errorf("%d lines were expected: %w", n, err)
			}
		}
	}
	return end, nil
}

func cutCSV(w io.Writer, file io.ReaderAt, size, n int64) error {
	r := csv.NewReader(io.NewSectionReader(file, 0, size))
	r.FieldsPerRecord, r.ReuseRecord = -1, true
	for range 1 + n { // one more line, because the first line has the names of the columns
		if _, err := r.Read(); err != nil {
			return fmt.Errorf("%d rows were expected: %w", n, err)
		}
	}
	_, err := io.Copy(w, io.NewSectionReader(file, 0, r.InputOffset()))
	return err
}
