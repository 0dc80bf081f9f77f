package language_test

import (
	"fmt"

	"github.com/amble-crawler/amble/article/language"
)

// A sentence is enough for most languages; a word is not.
func Example() {
	for _, text := range []string{
		"Ein Reiher steht still am See und wartet, bis ein Fisch nahe genug kommt, und dann stößt er schneller zu, als das Auge sehen kann.",
		"Ένας ερωδιός στέκεται ακίνητος δίπλα στη λίμνη.",
		"Taxi",
	} {
		guess := language.Detect(text)
		fmt.Println(guess.Tag, guess.Sure())
	}
	// Output:
	// de true
	// el true
	// az false
}
