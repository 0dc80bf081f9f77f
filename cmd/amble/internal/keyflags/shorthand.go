package keyflags

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/job"
)

// wordList is the value of a shorthand's flag: words, separated by commas.
type wordList []string

// Decode implements kong.MapperValue.
func (v *wordList) Decode(ctx *kong.DecodeContext) error {
	t, err := ctx.Scan.PopValue("value")
	if err != nil {
		return err
	}
	return v.set(ctx.Value.Name, t.Value)
}

func (v *wordList) set(name string, value any) error {
	text, ok := value.(below)
	if !ok {
		text = below{fmt.Sprint(value)}
	}
	*v = append(*v, text...)
	_, err := job.ShorthandNamed(name).Expand(*v...)
	return err
}

// optionalWords is the value of a shorthand's flag whose value is optional: words, separated by commas.
type optionalWords wordList

// IsBool implements kong.BoolMapperValue: the flag needs no value.
func (*optionalWords) IsBool() bool { return true }

// Decode implements kong.MapperValue.
func (v *optionalWords) Decode(ctx *kong.DecodeContext) error {
	var value any = "true"
	if ctx.Scan.Peek().Type == kong.FlagValueToken {
		value = ctx.Scan.Pop().Value
	}
	return (*wordList)(v).set(ctx.Value.Name, value)
}

func shortType(s *job.Shorthand) reflect.Type {
	if s.Bare {
		return reflect.TypeFor[optionalWords]()
	}
	return reflect.TypeFor[wordList]()
}

func shortTag(s *job.Shorthand, title string) reflect.StructTag {
	tag := fmt.Sprintf("name:%q help:%q group:%q placeholder:%q", s.Name, s.Doc, title, placeholders[s.Name])
	if !s.Bare {
		tag += fmt.Sprintf(" words:%q", strings.Join(s.Words, ",")) // words for shell completion
	}
	return reflect.StructTag(tag)
}

// givenShort returns the value of a key that a shorthand's flag on the command line sets.
func givenShort(ctx *kong.Context, short *job.Shorthand, key string) (s job.Setting, ok bool) {
	for _, p := range ctx.Path {
		if p.Flag == nil || p.Flag.Name != short.Name || p.Resolved {
			continue
		}
		switch v := ctx.FlagValue(p.Flag).(type) {
		case wordList:
			return expanded(short, key, v)
		case optionalWords:
			return expanded(short, key, v)
		}
	}
	return s, false
}

// expanded returns the setting of a key that a shorthand sets to these values.
func expanded(short *job.Shorthand, key string, values []string) (s job.Setting, ok bool) {
	all, err := short.Expand(values...) // cannot fail: the flag has checked them
	if err != nil {
		return s, false
	}
	return all.Get(key)
}

// Superseded returns the outdated flags on the command line, each with the flag that replaces it.
func (o *Origins) Superseded() (old [][2]string) {
	for _, p := range o.ctx.Path {
		if p.Flag == nil || p.Resolved || job.ShorthandNamed(p.Flag.Name) != nil {
			continue
		}
		if short, as := job.ShorthandOf(p.Flag.Name); short != nil {
			if !short.Bare {
				as = strings.Replace(as, "=", " ", 1)
			}
			old = append(old, [2]string{"--" + p.Flag.Name, "--" + as})
		}
	}
	return old
}

// flagOf returns the flag that sets a key, without hyphens.
func flagOf(key string) string {
	short, as := job.ShorthandOf(key)
	switch {
	case short == nil:
		return key
	case short.Bare:
		return short.Name
	}
	return strings.Replace(as, "=", " ", 1)
}
