package job

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/amble-crawler/amble/sink"
)

// Items is a file of a job directory with the results of its program ([crawler.Visit.Emit]): see [Config.Items]. Results are
// committed with their visits: each is in the file exactly once, even if the process is killed and the job resumed.
type Items struct {
	file string
	open func(o *outputs, file string) (sink.Sink, error)
}

// ItemsLines returns the file items.jsonl: one result per line, as [sink.NewItems] writes it.
func ItemsLines() Items {
	return Items{ItemsName, func(o *outputs, file string) (sink.Sink, error) {
		return kept(o, file, func(f *segmented) (sink.Sink, error) { return sink.AppendItems(f, f.Name()) })
	}}
}

// ItemsCSV returns the file items.csv: a row for each result, as [sink.NewCSV] writes it. When the job is resumed, the
// columns must be the same.
func ItemsCSV(columns ...string) Items {
	return Items{ItemsCSVName, func(o *outputs, file string) (sink.Sink, error) {
		return kept(o, file, func(f *segmented) (sink.Sink, error) {
			if f.open.bytes == 0 { // nothing was committed, so the columns may change: begin the file anew
				if err := f.Truncate(0); err != nil {
					return nil, err
				}
			}
			return sink.AppendCSV(f, f.Name(), columns...)
		})
	}}
}

// ItemsTable returns the database items.db, with a row for each result in its table "items". The program passes the function that
// opens the database, so that other programs do not link one:
//
//	job.ItemsTable(sqlite.Open) // of package sink/sqlite
//
// Open opens the database at path, or creates it, under the conditions of [sink.Sink]. The state of the sink is in this file and,
// while it is open, in files beside it whose names continue its own with -wal, -shm and -journal. After Close it is in this file
// alone, unless another program is reading it.
func ItemsTable[S sink.Sink](open func(path, table string) (S, error)) Items {
	return Items{ItemsTableName, func(o *outputs, file string) (sink.Sink, error) {
		d := o.commits.files
		f, err := d.edit(file, 0) // create the file, which reserves the name for the database
		if err != nil {
			return nil, err
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
		return open(d.path(file), itemsTable)
	}}
}

// itemsTable is the name of the table in items.db.
const itemsTable = "items"

// sidecars are the suffixes of files beside a database.
var sidecars = []string{"-wal", "-shm", "-journal"}

// kept opens an append-only file as a sink for results.
func kept(o *outputs, name string, open func(*segmented) (sink.Sink, error)) (sink.Sink, error) {
	f, err := o.commits.keep(name)
	if err != nil {
		return nil, err
	}
	s, err := open(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return s, nil
}

// openItems opens the files with the results.
func (o *outputs) openItems(all []Items) error {
	for _, it := range all {
		s, err := it.open(o, it.file)
		if errors.Is(err, sink.ErrColumns) {
			return refused("%w", err)
		}
		if err != nil {
			return err
		}
		o.keep(s)
	}
	return nil
}

// checkItems refuses Items that were not made by a constructor, and duplicate files.
func (c *Config) checkItems() error {
	seen := map[string]bool{}
	for _, it := range c.Items {
		switch {
		case it.open == nil:
			return refused("job: Items: use ItemsLines, ItemsCSV or ItemsTable")
		case seen[it.file]:
			return refused("job: Items: %s is there twice", it.file)
		}
		seen[it.file] = true
	}
	return nil
}

// itemsProgram returns the names of Items in [Config.Program]: if a job were resumed without one of them, that file would lack results.
func (c *Config) itemsProgram() (names []string) {
	for _, it := range c.Items {
		names = append(names, "Items "+it.file)
	}
	return names
}

// tableFact adds the state of the database to facts, unless files beside it hold a part of it.
func (d jobFiles) tableFact(facts map[string]FileFact) error {
	for _, end := range sidecars {
		info, err := d.root.Lstat(ItemsTableName + end)
		if err == nil && info.Size() > 0 { // another program is reading the database
			return nil
		}
	}
	fact, err := d.factOf(ItemsTableName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		facts[ItemsTableName] = fact
	}
	return err
}

// tableNote explains why Verify does not check the database. It is "" if Verify does or there is none.
func (d jobFiles) tableNote(m *Manifest) string {
	if _, ok := m.Outputs[ItemsTableName]; ok {
		return ""
	}
	if there, err := d.has(ItemsTableName); !there || err != nil {
		return ""
	}
	return fmt.Sprintf("%s was not compared: that is possible when the last process of the job has ended in good order and nobody was reading it", ItemsTableName)
}

// isSidecar reports whether a file is a sidecar of a database.
func isSidecar(name string) bool {
	end, ok := strings.CutPrefix(name, ItemsTableName)
	return ok && (end == sidecars[0] || end == sidecars[1] || end == sidecars[2])
}
