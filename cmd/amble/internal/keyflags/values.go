package keyflags

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/job"
)

// below is the value of a list flag that does not come from the command line.
type below []string

// Text is a kong.MapperFunc for strings. It keeps every byte. Kong's own mapper replaces bytes that are not UTF-8, which changes the names
// of files.
func Text(ctx *kong.DecodeContext, target reflect.Value) error {
	t, err := ctx.Scan.PopValue("string")
	if err == nil {
		target.SetString(t.String())
	}
	return err
}

// word is the value of a flag, checked by the flag's key.
type word string

// Decode implements kong.MapperValue.
func (v *word) Decode(ctx *kong.DecodeContext) error {
	if err := Text(ctx, reflect.ValueOf(v).Elem()); err != nil {
		return err
	}
	s := string(*v)
	if k := job.KeyNamed(ctx.Value.Name); k.Kind() != job.Choice || k.Spellings() { // kong itself checks the words of other keys
		return k.Check(s)
	}
	return nil
}

// Words is the value of a flag that takes several words, separated by commas or by repeating the flag.
type Words []string

// Decode implements kong.MapperValue.
func (w *Words) Decode(ctx *kong.DecodeContext) error {
	t, err := ctx.Scan.PopValue("value")
	if err != nil {
		return err
	}
	raw, ok := t.Value.(below)
	if !ok {
		raw = below{fmt.Sprint(t.Value)}
	}
	k := job.KeyNamed(ctx.Value.Name)
	for _, s := range raw {
		if k == nil { // the flag is not a key
			*w = append(*w, strings.Split(s, ",")...)
			continue
		}
		*w = append(*w, k.Split(s)...)
	}
	if k == nil {
		return nil
	}
	return k.Check(*w...)
}
