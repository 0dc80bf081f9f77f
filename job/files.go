package job

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/jsonl"
	"github.com/amble-crawler/amble/internal/safefile"
)

// plainDir is a directory that opens only regular files: symbolic links are not followed, files are created only under unused names, and
// named pipes do not block. So others who can write to the directory cannot make this process write elsewhere. Errors name full paths.
type plainDir struct {
	root *os.Root
	away *away // files that only the job's store has; nil: the store is not used
}

// readFile is a file open for reading.
type readFile interface {
	io.Reader
	io.ReaderAt
	io.Closer
}

// openDir opens the directory at path, which may itself be a link, because the operator named it.
func openDir(path string) (plainDir, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		err = &os.PathError{Op: "open", Path: path, Err: cli.Cause(err)}
	}
	return plainDir{root: root}, err
}

func (d plainDir) close() error { return errors.Join(d.root.Close(), d.away.close()) }

// readPlain reads a file with settings of the directory at path.
func readPlain(path, name string) ([]byte, error) {
	d, err := openDir(path)
	if err != nil {
		return nil, err
	}
	b, err := d.readSettings(name)
	return b, errors.Join(err, d.close())
}

// path returns the path of a file, for messages and for packages that need one.
func (d plainDir) path(name string) string { return filepath.Join(d.root.Name(), name) }

// errNotPlain is wrapped by the error for anything that is not a regular file (or, where expected, a directory), and for a file
// that must not be written to.
var errNotPlain = errors.New("a job directory may contain only regular files and directories: move it elsewhere")

// notPlain returns the error for the file at path, with the reason why it is not opened.
func notPlain(path, what string) error {
	return &Error{Kind: Refused, Err: fmt.Errorf("%s is %s: %w", path, what, errNotPlain)}
}

// kindOf returns the kind of a file in words, or "" for a regular file.
func kindOf(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return ""
	case m.IsDir():
		return "a directory"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a special file"
}

// file opens a regular file that exists.
func (d plainDir) file(name string, flag int) (*os.File, error) {
	before, err := d.root.Lstat(name)
	if err != nil {
		return nil, d.named("open", name, err)
	}
	if kind := kindOf(before.Mode()); kind != "" {
		return nil, notPlain(d.path(name), kind)
	}
	f, err := d.root.OpenFile(name, flag, 0)
	if err != nil {
		return nil, d.named("open", name, err)
	}
	after, err := f.Stat()
	switch {
	case err == nil && !os.SameFile(before, after): // the file was replaced between the two calls
		err = notPlain(d.path(name), "being replaced")
	case err == nil && flag&(os.O_WRONLY|os.O_RDWR) != 0 && links(after) > 1:
		err = notPlain(d.path(name), "a file with a second name (a hard link), and a change of one would be a change of both")
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// open opens a file for reading, from the store if the directory does not have it.
func (d plainDir) open(name string) (readFile, error) {
	f, err := d.file(name, os.O_RDONLY)
	switch {
	case err == nil:
		return f, nil
	case d.away != nil && errors.Is(err, fs.ErrNotExist):
		return d.away.open(name, err)
	}
	return nil, err
}

// read reads a whole file of at most safefile.Settings bytes. It is meant for settings rather than results.
func (d plainDir) read(name string) ([]byte, error) { return d.readUpTo(name, safefile.Settings) }

// readUpTo reads a whole file. A longer one is an error.
func (d plainDir) readUpTo(name string, limit int64) ([]byte, error) {
	f, err := d.open(name)
	if err != nil {
		return nil, err
	}
	b, err := safefile.ReadAll(f, d.path(name), limit)
	return b, errors.Join(err, f.Close())
}

// readSettings reads the manifest or the job file: up to safefile.Settings bytes without the lines of seeds, and up to
// safefile.Stream bytes with them, because a job may have as many seeds as a list.
func (d plainDir) readSettings(name string) ([]byte, error) {
	f, err := d.open(name)
	if err != nil {
		return nil, err
	}
	b, err := readSeeded(bufio.NewReaderSize(f, 64<<10), d.path(name))
	return b, errors.Join(err, f.Close())
}

func readSeeded(in *bufio.Reader, path string) (all []byte, err error) {
	for other, seed := 0, false; ; {
		part, err := in.ReadSlice('\n')
		if len(all) == 0 || all[len(all)-1] == '\n' { // part begins a line
			seed = isSeedLine(part)
		}
		if !seed {
			other += len(part)
		}
		switch {
		case other > safefile.Settings:
			return nil, fmt.Errorf("%s is %w %d bytes beside its seeds", path, safefile.ErrTooLong, safefile.Settings)
		case len(all)+len(part) > safefile.Stream:
			return nil, fmt.Errorf("%s is %w %d bytes", path, safefile.ErrTooLong, safefile.Stream)
		}
		all = append(all, part...)
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// isSeedLine reports whether a line of a manifest or a job file can be a seed of a list.
func isSeedLine(line []byte) bool {
	line = bytes.TrimLeft(bytes.TrimPrefix(bytes.TrimLeft(line, " "), []byte("- ")), `"`)
	return bytes.HasPrefix(line, []byte("http")) && bytes.HasSuffix(line, []byte("\n"))
}

// edit opens a file for reading and writing, with further flags, and creates it if it is missing.
func (d plainDir) edit(name string, flag int) (*os.File, error) {
	f, err := d.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR|flag, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return d.file(name, os.O_RDWR|flag)
	}
	return f, d.named("open", name, err)
}

// has reports whether a file or directory with the name exists.
func (d plainDir) has(name string) (bool, error) {
	_, err := d.size(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// replace writes a file whole or not at all, even if the process or the system ends meanwhile.
func (d plainDir) replace(name string, b []byte) error { return d.replaceAs(name, b, 0o644) }

// replaceSecret is like replace, for a file that only its owner may read.
func (d plainDir) replaceSecret(name string, b []byte) error { return d.replaceAs(name, b, 0o600) }

func (d plainDir) replaceAs(name string, b []byte, mode fs.FileMode) error {
	return d.replaceBy(name, mode, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// replaceBy is like replaceAs, for contents that are too large for memory.
func (d plainDir) replaceBy(name string, mode fs.FileMode, write func(io.Writer) error) error {
	f, err := d.create(name+newSuffix, mode)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(f)
	if err = errors.Join(write(b), b.Flush()); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = d.named("rename", name, d.root.Rename(name+newSuffix, name))
	}
	if err != nil {
		return errors.Join(err, d.root.Remove(name+newSuffix))
	}
	return d.sync()
}

// create creates a file for writing. A file that a killed process left under this name is removed.
func (d plainDir) create(name string, mode fs.FileMode) (*os.File, error) {
	const flag = os.O_CREATE | os.O_EXCL | os.O_WRONLY
	f, err := d.root.OpenFile(name, flag, mode)
	if errors.Is(err, fs.ErrExist) {
		if err = d.root.Remove(name); err == nil {
			f, err = d.root.OpenFile(name, flag, mode)
		}
	}
	return f, d.named("open", name, err)
}

// sub opens a subdirectory, and creates it if it is missing.
func (d plainDir) sub(name string) (plainDir, error) {
	if err := d.root.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return plainDir{}, d.named("mkdir", name, err)
	}
	info, err := d.root.Lstat(name)
	if err != nil {
		return plainDir{}, d.named("open", name, err)
	}
	if !info.IsDir() {
		return plainDir{}, notPlain(d.path(name), kindOf(info.Mode()))
	}
	root, err := d.root.OpenRoot(name)
	return plainDir{root: root}, d.named("open", name, err)
}

// list returns the entries of the directory or of one of its subdirectories, unsorted. A missing directory has none.
func (d plainDir) list(name string) ([]fs.DirEntry, error) {
	f, err := d.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, d.named("open", name, err)
	}
	entries, err := f.ReadDir(-1)
	return entries, errors.Join(err, f.Close())
}

// names is like list, but returns only names, which avoids a look-up for each entry.
func (d plainDir) names(name string) ([]string, error) {
	f, err := d.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return d.away.names(name, nil)
	}
	if err != nil {
		return nil, d.named("open", name, err)
	}
	names, err := f.Readdirnames(-1)
	if err = errors.Join(err, f.Close()); err != nil {
		return names, err
	}
	return d.away.names(name, names)
}

// sync makes the names in the directory durable, if the system can.
func (d plainDir) sync() error {
	if runtime.GOOS == "windows" {
		return nil // directories cannot be synced on Windows
	}
	f, err := d.root.Open(".")
	if err != nil {
		return d.named("open", ".", err)
	}
	return errors.Join(f.Sync(), f.Close())
}

// named returns err with the full path of its file.
func (d plainDir) named(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: op, Path: d.path(name), Err: cli.Cause(err)}
}

// checkKind returns an error for anything that is not a regular file or, where expected, a directory.
func (d plainDir) checkKind(name string, mode fs.FileMode, dir bool) error {
	if mode.IsDir() == dir && (dir || mode.IsRegular()) {
		return nil
	}
	return notPlain(d.path(name), cmp.Or(kindOf(mode), "a regular file"))
}

// eachLine calls f with every complete line of a file and its number, starting at 1, until f returns false. The line is valid
// until f returns.
func (d plainDir) eachLine(name string, f func(n int, line []byte) bool) error {
	file, err := d.stream(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read, so an error of closing loses nothing
	return d.lineError(name, jsonl.Lines(file, f))
}

// lineError returns the error of reading lines with the path of the file.
func (d plainDir) lineError(name string, err error) error {
	var bad *jsonl.LineError
	if errors.As(err, &bad) {
		return fmt.Errorf("line %d of %s: %w", bad.Line, d.path(name), bad.Err)
	}
	return err
}

// member returns "name":"value" as written in the lines of a job.
func member(name, value string) []byte {
	b, err := json.Marshal(value)
	if err != nil { // marshalling a string cannot fail
		panic(err)
	}
	return append([]byte(`"`+name+`":`), b...)
}

// has reports whether a line may contain the member. It is fast, and exact when it returns false.
func has(line, member []byte) bool { return bytes.Contains(line, member) }
