// Languagemodel generates the model of package article/language: the most frequent n-grams of each language, with their frequencies. It
// uses the models of the language detector lingua.
//
//	go run ./tools/languagemodel DIR >article/language/model.bin.gz
//
// DIR is the folder language-models of github.com/pemistahl/lingua-go (Apache License 2.0), which were trained on newspapers and
// Wikipedia. The result is sorted by languages and n-grams, so that the same folder gives the same bytes.
package main

import (
	"archive/zip"
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
)

// kept has the number of n-grams to keep for each language, indexed by the length of the n-gram.
var kept = [...]int{0, 0, 0, 4000, 5000}

func main() {
	if err := run(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir string, out io.Writer) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	z, _ := gzip.NewWriterLevel(out, gzip.BestCompression)
	w := bufio.NewWriter(z)
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		grams, err := frequent(filepath.Join(dir, e.Name()))
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name(), err)
		}
		fmt.Fprintf(w, "%s %d\n", e.Name(), len(grams))
		last := byte(0)
		for _, g := range grams { // before each gram, a byte: the gram's level minus the previous level, in eighths of powers of two
			level := byte(max(0, min(255, math.Round(-8*math.Log2(g.p)))))
			fmt.Fprintf(w, "%s%s\n", []byte{level - last}, g.text)
			last = level
		}
	}
	return errors.Join(w.Flush(), z.Close())
}

// gram is an n-gram with its share among the n-grams of the same length.
type gram struct {
	text string
	p    float64
}

// frequent returns the most frequent n-grams of a language, sorted by frequency.
func frequent(dir string) (list []gram, err error) {
	joint := map[string]float64{"": 1} // probabilities of the n-grams that are one letter shorter
	for n, name := range []string{"uni", "bi", "tri", "quadri"} {
		conditional, err := readModel(filepath.Join(dir, name+"grams.pb.bin.zip"))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil // the language is recognized by its script, and needs no model
		}
		if err != nil {
			return nil, err
		}
		next := make(map[string]float64, len(conditional))
		var all []gram
		for text, p := range conditional {
			r := []rune(text)
			next[text] = p * joint[string(r[:len(r)-1])]
			all = append(all, gram{text, next[text]})
		}
		slices.SortFunc(all, func(a, b gram) int { return cmp.Or(cmp.Compare(b.p, a.p), cmp.Compare(a.text, b.text)) })
		list = append(list, all[:min(len(all), kept[n+1])]...)
		joint = next
	}
	slices.SortStableFunc(list, func(a, b gram) int { return cmp.Or(cmp.Compare(b.p, a.p), cmp.Compare(a.text, b.text)) })
	return list, nil
}

// readModel reads a file of lingua: a protocol buffer in which field 4 holds sets of n-grams (field 2) that have the same conditional
// probability (field 1).
func readModel(name string) (map[string]float64, error) {
	z, err := zip.OpenReader(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = z.Close() }() // opened only for reading
	f, err := z.File[0].Open()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	grams := map[string]float64{}
	err = fields(data, func(field int, set []byte) error {
		if field != 4 {
			return nil
		}
		var p float64
		return fields(set, func(field int, v []byte) error {
			if field == 1 {
				p = math.Float64frombits(binary.LittleEndian.Uint64(v))
			} else {
				grams[string(v)] = p
			}
			return nil
		})
	})
	return grams, err
}

// fields calls f with the fields of a protocol buffer.
func fields(data []byte, f func(field int, value []byte) error) error {
	for len(data) > 0 {
		key, n := binary.Uvarint(data)
		if n <= 0 {
			return io.ErrUnexpectedEOF
		}
		data = data[n:]
		size := 8
		switch key & 7 {
		case 0:
			_, size = binary.Uvarint(data)
		case 2:
			length, n := binary.Uvarint(data)
			data, size = data[n:], int(length)
		}
		if size < 0 || size > len(data) {
			return io.ErrUnexpectedEOF
		}
		if err := f(int(key>>3), data[:size]); err != nil {
			return err
		}
		data = data[size:]
	}
	return nil
}
