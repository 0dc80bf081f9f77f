package text

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"github.com/amble-crawler/amble/internal/extsort"
)

// Two texts are near-duplicates if three in five of their sequences of shingleWords words occur in both (Jaccard index 0.6). MinHash
// estimates the index: a signature has one byte of the minimum hash of a text's sequences for each of signatureSize hash functions. Two
// texts are compared only if their signatures agree in one of bands bands of bandRows bytes. A text with an index of 0.7 to another one is
// found with probability 0.98, with 0.8 with probability 0.9999; one with 0.5 is wrongly taken for a near-duplicate with probability 0.01.
const (
	shingleWords  = 5
	bands         = 25
	bandRows      = 5
	signatureSize = bands * bandRows
	nearIndex     = 0.6
	bucketHeads   = 4 // number of earlier texts in a bucket with which each text of the bucket is compared
)

// signature is the MinHash signature of a text. For a text without words each byte is 255.
type signature [signatureSize]byte

var noWords = signatureOf("")

// multipliers are odd random numbers from splitmix64 that define the hash functions.
var multipliers = func() (m [signatureSize][2]uint64) {
	state := uint64(0)
	next := func() uint64 {
		state += 0x9E3779B97F4A7C15
		z := (state ^ state>>30) * 0xBF58476D1CE4E5B9
		z = (z ^ z>>27) * 0x94D049BB133111EB
		return z ^ z>>31
	}
	for i := range m {
		m[i] = [2]uint64{next() | 1, next()}
	}
	return m
}()

// signatureOf returns the signature of a text.
func signatureOf(text string) (s signature) {
	var least [signatureSize]uint32
	for i := range least {
		least[i] = math.MaxUint32
	}
	for h := range shingles(text) {
		for i, m := range multipliers {
			least[i] = min(least[i], uint32((h*m[0]+m[1])>>32))
		}
	}
	for i, v := range least {
		s[i] = byte(v)
	}
	return s
}

// shingles calls yield with a hash of each sequence of words, or of all words if there are fewer. It ignores case and
// punctuation. In scripts without spaces each letter is a word.
func shingles(text string) func(yield func(uint64) bool) {
	return func(yield func(uint64) bool) {
		var window [shingleWords]uint64
		var word []byte
		n := 0
		end := func() bool {
			if len(word) == 0 {
				return true
			}
			copy(window[:], window[1:])
			window[shingleWords-1] = xxh3.Hash(word)
			word = word[:0]
			n++
			return n < shingleWords || yield(hashWindow(window[:]))
		}
		for _, r := range text {
			spaceless := r >= '\u0E00' && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
			inside := unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
			if (spaceless || !inside) && !end() {
				return
			}
			if inside {
				word = utf8.AppendRune(word, unicode.ToLower(r))
			}
		}
		if end() && n > 0 && n < shingleWords {
			yield(hashWindow(window[shingleWords-n:]))
		}
	}
}

func hashWindow(words []uint64) uint64 {
	var b [8 * shingleWords]byte
	for i, w := range words {
		binary.BigEndian.PutUint64(b[8*i:], w)
	}
	return xxh3.Hash(b[:8*len(words)])
}

// like reports whether the texts of two signatures are nearly the same. Bytes agree by chance in one of 256 cases.
func (s *signature) like(other *signature) bool {
	same := 0
	for i := range s {
		if s[i] == other[i] {
			same++
		}
	}
	return float64(same)/signatureSize >= nearIndex+(1-nearIndex)/256
}

// firstOf returns for each text the number of the first text that it is a near-duplicate of, or its own number. All texts of a
// group are near-duplicates of its first text, but not necessarily of each other. Texts without words have no near-duplicates.
// The file has the signatures of the texts, in order. Temporary files in dir hold the buckets (band, part of a signature, number)
// and the pairs that share a bucket.
func firstOf(dir string, signatures *os.File) (first []int32, err error) {
	buckets, pairs := extsort.New(dir, 0), extsort.New(dir, 0)
	defer func() { _, _ = buckets.Close(), pairs.Close() }() // temporary files: errors of closing do no harm
	if _, err := signatures.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	in := bufio.NewReaderSize(signatures, 256<<10)
	for {
		var s signature
		if _, err := io.ReadFull(in, s[:]); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		n := uint32(len(first))
		first = append(first, int32(n))
		for band := 0; band < bands && s != noWords; band++ {
			b := append([]byte{byte(band)}, s[band*bandRows:(band+1)*bandRows]...)
			if err := buckets.Add(binary.BigEndian.AppendUint32(b, n)); err != nil {
				return nil, err
			}
		}
	}
	if err := pair(buckets, pairs); err != nil {
		return nil, err
	}
	var candidates []int32 // first texts of the groups that text may belong to
	text := int32(-1)
	for b, err := range pairs.All() {
		if err != nil {
			return nil, err
		}
		if next := int32(binary.BigEndian.Uint32(b)); next != text {
			if err := group(first, text, candidates, signatures); err != nil {
				return nil, err
			}
			text, candidates = next, candidates[:0]
		}
		candidates = append(candidates, first[binary.BigEndian.Uint32(b[4:])])
	}
	return first, group(first, text, candidates, signatures)
}

// pair adds the pairs to compare: each text with the first texts of its bucket.
func pair(buckets, pairs *extsort.Sorter) error {
	var bucket []byte
	var heads [][]byte
	for b, err := range buckets.All() {
		if err != nil {
			return err
		}
		key, text := b[:1+bandRows], b[1+bandRows:]
		if string(key) != string(bucket) {
			bucket, heads = append(bucket[:0], key...), nil
		}
		for _, head := range heads {
			if err := pairs.Add(append(slices.Clone(text), head...)); err != nil {
				return err
			}
		}
		if len(heads) < bucketHeads {
			heads = append(heads, slices.Clone(text))
		}
	}
	return nil
}

// group assigns a text to the first of the candidates that it is a near-duplicate of.
func group(first []int32, text int32, candidates []int32, signatures io.ReaderAt) error {
	if len(candidates) == 0 {
		return nil
	}
	var own, other signature
	if _, err := signatures.ReadAt(own[:], int64(text)*signatureSize); err != nil {
		return err
	}
	slices.Sort(candidates)
	for _, c := range slices.Compact(candidates) {
		if _, err := signatures.ReadAt(other[:], int64(c)*signatureSize); err != nil {
			return err
		}
		if own.like(&other) {
			first[text] = c
			return nil
		}
	}
	return nil
}
