package language

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"math"
	"sync"
)

// model.bin.gz contains, for each language, the 4,000 most frequent sequences of three letters and the 5,000 most frequent of four, with
// their frequencies in eighths of powers of two. They come from the models of github.com/pemistahl/lingua-go 1.4.0, Copyright 2021-present
// Peter M. Stahl, Apache License 2.0. To generate the file again:
//
//	go run ./tools/languagemodel DIR >article/language/model.bin.gz
//
//go:embed model.bin.gz
var packed []byte

// model holds the n-grams that are frequent, for all languages.
type model struct {
	languages []known
	grams     map[uint64][]posting
}

// known is a language of the model.
type known struct {
	tag    string
	script script
}

// posting says how frequent an n-gram is in a language: level is -8 log2 of its share among n-grams of this length.
type posting struct {
	language, level uint8
}

// absent is the level of an n-gram that is not among the frequent ones of a language.
const absent = 160

var standard = sync.OnceValue(func() *model {
	m, err := read(packed)
	if err != nil {
		panic("language: model.bin.gz is damaged: " + err.Error()) // a test ensures that the file is valid
	}
	return m
})

// read unpacks the model.
func read(packed []byte) (*model, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	m := &model{grams: make(map[uint64][]posting, 400_000)}
	in := bufio.NewReader(z)
	for {
		var tag string
		var count int
		if n, err := fmt.Fscanf(in, "%s %d\n", &tag, &count); n != 2 {
			if len(m.languages) == 0 {
				return nil, err
			}
			return m, nil
		}
		l := known{tag: tag, script: script(tag)}
		level := byte(0)
		for i := range count {
			step, err := in.ReadByte()
			if err != nil {
				return nil, err
			}
			text, err := in.ReadString('\n')
			if err != nil {
				return nil, err
			}
			level += step
			r := []rune(text[:len(text)-1])
			if i == 0 {
				l.script = scriptOf(r[0])
			}
			m.grams[key(r)] = append(m.grams[key(r)], posting{uint8(len(m.languages)), level})
		}
		m.languages = append(m.languages, l)
	}
}

// key encodes an n-gram of up to four letters as a number.
func key(r []rune) (k uint64) {
	for _, c := range r {
		k = k<<16 ^ uint64(c)
	}
	return k ^ uint64(len(r))<<63
}

// guess returns the language of a script in which the n-grams of the text are most frequent. all is the number of letters, n that of the
// letters of the script.
func (m *model) guess(s script, letters []rune, n, all int) Guess {
	score := make([]int, len(m.languages)) // score of each language, relative to a language in which no n-gram is frequent
	for length := 3; length <= 4; length++ {
		for i := 0; i+length <= len(letters); i++ {
			run := letters[i : i+length]
			if hasBlank(run) {
				continue
			}
			for _, p := range m.grams[key(run)] {
				if p.level < absent {
					score[p.language] += int(absent - p.level)
				}
			}
		}
	}
	best, second := -1, -1
	for i, l := range m.languages {
		if l.script != s {
			continue
		}
		switch {
		case best < 0 || score[i] > score[best]:
			best, second = i, best
		case second < 0 || score[i] > score[second]:
			second = i
		}
	}
	if score[best] == 0 {
		return Guess{}
	}
	lead := float64(score[best]-score[second]) / 8 // lead over the second language, in bits
	return Guess{m.languages[best].tag, confidence((1-math.Exp2(-lead/24))*float64(n)/float64(all), n)}
}

func hasBlank(run []rune) bool {
	for _, r := range run {
		if r == ' ' {
			return true
		}
	}
	return false
}
