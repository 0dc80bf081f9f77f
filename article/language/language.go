// Package language detects the language of a text, with a confidence, for 75 languages.
//
//	guess := language.Detect(text)
//	if guess.Sure() {
//		fmt.Println(guess.Tag)
//	}
//
// If only one language uses a script, the script identifies it. Otherwise the sequences of three and four letters that are frequent in each
// language decide. The result is deterministic. Closely related languages are sometimes confused: Bosnian and Croatian, Indonesian and
// Malay, the two forms of Norwegian; [Guess.Sure] is then mostly false.
//
// Measured with newspaper sentences that were joined to texts of each length; for 200 characters, these are 29,574 texts in 75 languages:
//
//	characters                  20    50   100   200
//	30 large languages, %     85.8  95.6  98.4  99.6
//	all 75 languages, %       82.6  92.6  95.7  97.2
//	reported sure, %           14.3  58.5  88.4  95.0
//	of these wrong, %          0.0   0.1   0.7   1.3
//
// The model takes 1.5 MB in the program, and 24 MB of memory after its first use.
package language

import (
	"math"
	"slices"
	"unicode"
)

// Guess is the language of a text.
type Guess struct {
	// Tag is the language as in BCP 47; "" if the text has no letters, or only letters of unknown scripts.
	Tag string

	// Confidence is from 0 to 1. It is the share of the evidence that is for this language, reduced for texts shorter than 120 letters. It is
	// not the probability that the guess is right.
	Confidence float64
}

// sureness is the minimum confidence of a guess that counts as sure.
const sureness = 0.5

// Sure reports whether the confidence is so high that the guess is rarely wrong. It is false for most texts of fewer than 30 letters,
// unless their script decides.
func (g Guess) Sure() bool { return g.Confidence >= sureness }

// maxLetters limits the number of letters that are examined, from the beginning of the text.
const maxLetters = 4000

// Detect guesses the language of a text in UTF-8.
func Detect(text string) Guess {
	counts := map[script]int{}
	letters, all := make([]rune, 0, min(len(text), maxLetters)), 0
	for _, r := range text {
		if !unicode.IsLetter(r) { // this also skips marks, which the model does not have
			if n := len(letters); n > 0 && letters[n-1] != ' ' {
				letters = append(letters, ' ')
			}
			continue
		}
		if s := scriptOf(r); s != "" {
			counts[s]++
		}
		letters = append(letters, unicode.ToLower(r))
		if all++; all >= maxLetters {
			break
		}
	}
	main, n := script(""), 0
	for _, s := range scripts {
		if c := counts[s.name]; c > n {
			main, n = s.name, c
		}
	}
	switch kana, hangul := counts["kana"], counts["ko"]; {
	case n == 0:
		return Guess{}
	case (main == "zh" || main == "kana") && kana*20 > n:
		return Guess{"ja", confidence(float64(n+kana)/float64(all), all*3)}
	case main == "zh" && hangul*5 > n:
		return Guess{"ko", confidence(float64(hangul+n)/float64(all), all*3)}
	case !shared[main]:
		return Guess{string(main), confidence(float64(n)/float64(all), all*3)}
	}
	return standard().guess(main, letters, n, all)
}

// confidence returns the share of the evidence, reduced for short texts.
func confidence(share float64, letters int) float64 {
	return max(0, min(1, share*min(1, math.Sqrt(float64(letters)/120))))
}

// Tags returns the languages that Detect knows, sorted.
func Tags() []string {
	var tags []string
	for _, l := range standard().languages {
		tags = append(tags, l.tag)
	}
	slices.Sort(tags)
	return tags
}

// script is the name of a script, or the tag of the only language that uses the script.
type script string

// scripts lists the scripts. If shared is set, several known languages use the script.
var scripts = []struct {
	name  script
	table *unicode.RangeTable
}{
	{"latin", unicode.Latin}, {"cyrillic", unicode.Cyrillic}, {"arabic", unicode.Arabic}, {"devanagari", unicode.Devanagari},
	{"zh", unicode.Han}, {"kana", kana}, {"ko", unicode.Hangul}, {"el", unicode.Greek}, {"he", unicode.Hebrew}, {"hy", unicode.Armenian},
	{"ka", unicode.Georgian}, {"bn", unicode.Bengali}, {"gu", unicode.Gujarati}, {"pa", unicode.Gurmukhi}, {"ta", unicode.Tamil},
	{"te", unicode.Telugu}, {"th", unicode.Thai},
}

var shared = map[script]bool{"latin": true, "cyrillic": true, "arabic": true, "devanagari": true}

// kana contains the characters of Hiragana and Katakana.
var kana = &unicode.RangeTable{R16: []unicode.Range16{{Lo: 0x3041, Hi: 0x30ff, Stride: 1}, {Lo: 0x31f0, Hi: 0x31ff, Stride: 1}, {Lo: 0xff66, Hi: 0xff9d, Stride: 1}}}

func scriptOf(r rune) script {
	if r < 0x250 {
		return "latin"
	}
	for _, s := range scripts {
		if unicode.Is(s.table, r) {
			return s.name
		}
	}
	return ""
}
