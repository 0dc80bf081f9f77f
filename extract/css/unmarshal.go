package css

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/net/html"
)

// ErrNoMatch is the cause if the page has no element for a field's selector, or if the element lacks the attribute.
var ErrNoMatch = errors.New("no match")

// ErrTooMuch is the cause if the fields read so far have used up the text that one Unmarshal may read.
var ErrTooMuch = errors.New("too much text")

// MaxText limits the text that one Unmarshal reads, in bytes.
const MaxText = 16 << 20

// FieldError reports a field of a struct that could not be read from a page. The errors of [Unmarshal] are of this type.
type FieldError struct {
	Field    string // path of the field in Go: "Product.Offers[1].Price"
	Selector string // selector of the field
	Err      error  // the cause: ErrNoMatch, or the error of converting the text
}

// Error names field, selector and cause.
func (e *FieldError) Error() string {
	return fmt.Sprintf("css: field %s, selector %q: %v", e.Field, e.Selector, e.Err)
}

// Unwrap returns the cause.
func (e *FieldError) Unwrap() error { return e.Err }

// Unmarshal reads the fields of a struct from a page. dst is a pointer to the struct. Two tags of a field select its value:
//
//	Name   string   `css:"h1"`                  // the text of the first h1, as Text returns it
//	Image  string   `css:"img.main" attr:"src"` // an attribute of the first such element
//	Price  float64  `css:".price"`              // numbers and bool are converted by package strconv
//	Seen   time.Time `css:"time" attr:"datetime"` // as is any encoding.TextUnmarshaler
//	Tags   []string `css:".tag"`                // each element that is selected, and has the attribute if one is named
//	Rating *int     `css:".rating"`             // nil if there is none
//	Offers []Offer  `css:".offer"`              // a struct is read from below the element
//	Self   string   `css:"" attr:"data-id"`     // "" is the element that the struct is read from
//	Rest   any      // without a css tag, a field is left as it is
//
// A field whose selector matches nothing is an error ([ErrNoMatch]) unless it is a pointer or a slice. Unmarshal reads all fields that it
// can read. For each other field it returns a [*FieldError], joined in one error, so that a program can decide which fields it needs.
//
// Selected elements can be nested, so that the same text is read many times: an Unmarshal that has read [MaxText] bytes stops with
// [ErrTooMuch].
//
// Unmarshal panics if dst is not a pointer to a struct, if a selector is invalid, or if there is a tag at a field that is not exported,
// that has an unsupported type, or whose struct contains itself. These are errors of the program, which occur with any page.
func Unmarshal(n *html.Node, dst any) error {
	v := reflect.ValueOf(dst)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("css: Unmarshal to %T, which is not a pointer to a struct", dst))
	}
	u := unmarshaler{left: MaxText}
	u.structure(n, v.Elem(), v.Elem().Type().Name())
	return errors.Join(u.errs...)
}

// field holds the parsed tags of a field.
type field struct {
	index    int
	name     string
	selector *Selector
	attr     string
}

// structs caches the fields of each struct type. The values are of type []field.
var structs sync.Map

// fieldsOf returns the fields of a struct that have tags. It panics if the struct cannot be read.
func fieldsOf(t reflect.Type, within ...reflect.Type) []field {
	if fs, ok := structs.Load(t); ok {
		return fs.([]field)
	}
	if slices.Contains(within, t) {
		panic(fmt.Sprintf("css: %s contains itself", t))
	}
	fs := []field{}
	for i := range t.NumField() {
		f := t.Field(i)
		text, ok := f.Tag.Lookup("css")
		if !ok {
			continue
		}
		if !f.IsExported() {
			panic(fmt.Sprintf("css: field %s.%s has a css tag and is not exported", t, f.Name))
		}
		sel, err := compileTag(text)
		if err != nil {
			panic(fmt.Sprintf("css: field %s.%s: %v", t, f.Name, err))
		}
		if one := single(f.Type); one.Kind() == reflect.Struct && !isText(one) {
			fieldsOf(one, append(within, t)...)
		} else if !readable(one) {
			panic(fmt.Sprintf("css: field %s.%s: a %s cannot be read from a page", t, f.Name, f.Type))
		}
		fs = append(fs, field{i, f.Name, sel, f.Tag.Get("attr")})
	}
	structs.Store(t, fs)
	return fs
}

// single returns the type of the value that is read from one element: of a slice or pointer, the type of its element.
func single(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Slice && !isText(t) {
		t = t.Elem()
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

var textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

// isText reports whether a type implements encoding.TextUnmarshaler.
func isText(t reflect.Type) bool { return reflect.PointerTo(t).Implements(textUnmarshaler) }

// readable reports whether set can read a type.
func readable(t reflect.Type) bool {
	switch k := t.Kind(); k {
	case reflect.String, reflect.Bool, reflect.Float32, reflect.Float64:
		return true
	default:
		return isText(t) || reflect.Int <= k && k <= reflect.Uintptr
	}
}

func compileTag(text string) (*Selector, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // a nil Selector selects the node itself
	}
	return Compile(text)
}

// unmarshaler is one call of Unmarshal.
type unmarshaler struct {
	errs []error
	left int // number of bytes of text that may still be read
}

func (u *unmarshaler) fail(path string, f field, err error) {
	u.errs = append(u.errs, &FieldError{path, f.selector.String(), err})
}

func (u *unmarshaler) structure(n *html.Node, v reflect.Value, path string) {
	for _, f := range fieldsOf(v.Type()) {
		if u.left <= 0 {
			return
		}
		u.field(n, v.Field(f.index), f, strings.TrimPrefix(path+"."+f.name, "."))
	}
}

func (u *unmarshaler) field(n *html.Node, v reflect.Value, f field, path string) {
	v.SetZero() // a struct that is used again must not keep values of another page
	if v.Kind() != reflect.Slice || isText(v.Type()) {
		if !u.value(First(n, f.selector), v, f, path) {
			v.SetZero() // a failed conversion must not leave a value
		}
		return
	}
	for i, found := range All(n, f.selector) {
		if u.left <= 0 {
			return
		}
		if !f.in(found) {
			continue
		}
		one := reflect.New(v.Type().Elem()).Elem()
		if u.value(found, one, f, fmt.Sprintf("%s[%d]", path, i)) {
			v.Set(reflect.Append(v, one))
		}
	}
}

// value reads v from an element; n is nil if there is none. It reports whether there was a value.
func (u *unmarshaler) value(n *html.Node, v reflect.Value, f field, path string) bool {
	if v.Kind() == reflect.Pointer {
		if !f.in(n) {
			return false
		}
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if !f.in(n) {
		u.fail(path, f, ErrNoMatch)
		return false
	}
	if v.Kind() == reflect.Struct && !isText(v.Type()) {
		u.structure(n, v, path)
		return true
	}
	text := f.text(n)
	if u.left -= len(text); u.left <= 0 {
		u.fail(path, f, ErrTooMuch)
		return false
	}
	if err := set(v, text); err != nil {
		u.fail(path, f, err)
		return false
	}
	return true
}

// in reports whether n has a value for the field.
func (f field) in(n *html.Node) bool {
	if f.attr == "" {
		return n != nil
	}
	_, ok := attr(n, f.attr)
	return ok
}

func (f field) text(n *html.Node) string {
	if f.attr == "" {
		return Text(n, nil)
	}
	return Attr(n, nil, f.attr)
}

// set converts text to the type of v, for which readable must be true, and stores it in v.
func set(v reflect.Value, text string) (err error) {
	if isText(v.Type()) {
		return v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text))
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		var b bool
		b, err = strconv.ParseBool(text)
		v.SetBool(b)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		var i int64
		i, err = strconv.ParseInt(text, 10, v.Type().Bits())
		v.SetInt(i)
	case reflect.Float32, reflect.Float64:
		var x float64
		x, err = strconv.ParseFloat(text, v.Type().Bits())
		v.SetFloat(x)
	default:
		var i uint64
		i, err = strconv.ParseUint(text, 10, v.Type().Bits())
		v.SetUint(i)
	}
	return cause(err)
}

// maxQuoted limits the text of a page that an error contains, in bytes.
const maxQuoted = 100

// cause shortens the text in an error of package strconv.
func cause(err error) error {
	var num *strconv.NumError
	if !errors.As(err, &num) {
		return err
	}
	text := num.Num
	if len(text) > maxQuoted {
		text = text[:maxQuoted] + "…"
	}
	return fmt.Errorf("%q: %w", text, num.Err)
}
