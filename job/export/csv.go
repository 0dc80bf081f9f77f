package export

import (
	"bufio"
	"encoding/csv"
	"path/filepath"

	"github.com/amble-crawler/amble/internal/hidden"
)

// Tables returns the tables of an export.
func Tables() []*Table {
	return []*Table{Visits(), Requests(), Hosts(), Robots(), Usage(), Links(), Problems()}
}

// CSV returns the kind csv: a directory with a file for each of [Tables], as in RFC 4180, in UTF-8, with line feeds and column
// names in the first row. Null is an empty cell, times are as in RFC 3339, lists are JSON. Text that a spreadsheet would take for
// a formula has an apostrophe before it.
func CSV() Kind {
	return Kind{
		Name: "csv", Doc: "tables for spreadsheets: visits, requests, hosts, …", Suffix: "-csv", Dir: true, Tables: Tables(),
		Write: func(x *Export) error {
			return EachTable(x, Tables(), func(t *Table) error {
				return x.WriteFile(filepath.Join(x.Path, t.Name+".csv"), func(w *bufio.Writer) error { return writeCSV(x, t, w) })
			})
		},
	}
}

// EachTable calls f with each table for which the job has the data, and notes the others.
func EachTable(x *Export, tables []*Table, f func(*Table) error) error {
	for _, t := range tables {
		if t.In != nil {
			if in, err := t.In(x); err != nil || !in {
				if err != nil {
					return err
				}
				continue
			}
		}
		if err := f(t); err != nil {
			return err
		}
	}
	return nil
}

func writeCSV(x *Export, t *Table, w *bufio.Writer) error {
	out := csv.NewWriter(w) // csv.Writer keeps the first error for Error
	cells := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		cells[i] = c.Name
	}
	if err := out.Write(cells); err != nil {
		return err
	}
	err := t.Rows(x, func(row []Value) error {
		for i := range row {
			cells[i] = row[i].AsText(t.Columns[i].Type)
			if typ := t.Columns[i].Type; typ == Text || typ == List {
				cells[i] = hidden.Cell(cells[i])
			}
		}
		return out.Write(cells)
	})
	if err != nil {
		return err
	}
	out.Flush()
	return out.Error()
}
