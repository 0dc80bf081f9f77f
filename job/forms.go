package job

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/politeness"
)

// Kind is the textual form of a key's value.
type Kind string

// The kinds of values.
const (
	Bool     Kind = "boolean"  // true or false
	Text     Kind = "text"     // any text
	Choice   Kind = "choice"   // one of a few words
	Whole    Kind = "whole"    // a whole number
	Count    Kind = "count"    // a whole number, or "none"
	Number   Kind = "number"   // a number, or "none"
	Duration Kind = "duration" // such as 500ms or 1m30s; a bare number is in seconds; or "none"
	Size     Kind = "size"     // such as 500kB or 10MiB; a bare number is in bytes; or "none"
	List     Kind = "list"     // a list of texts
)

// form converts a field of a Config to text and back.
type form interface {
	kind() Kind
	// parse returns an error if the text does not have the form.
	parse(v []string) error
	// set sets the field from a text whose form is valid. It returns an error if the value is still not allowed.
	set(field reflect.Value, v []string) error
	// text returns the field as text.
	text(field reflect.Value) []string
}

// flag is the form of a bool.
type flag struct{}

func (flag) kind() Kind { return Bool }

func (flag) parse(v []string) error {
	switch one(v) {
	case "true", "false", "yes", "no", "on", "off", "1", "0":
		return nil
	}
	return fmt.Errorf("%q: want true or false", one(v))
}

func (flag) set(field reflect.Value, v []string) error {
	field.SetBool(isOn(one(v)))
	return nil
}

// isOn reports whether the text of a bool, in valid form, means true.
func isOn(text string) bool { return text == "true" || text == "yes" || text == "on" || text == "1" }

func (flag) text(field reflect.Value) []string { return []string{strconv.FormatBool(field.Bool())} }

// one returns the only value, or "" if there is none.
func one(v []string) string {
	if len(v) == 0 {
		return ""
	}
	return v[len(v)-1]
}

// words is the form of a string. def is the text for an empty string.
type words struct{ def string }

func (words) kind() Kind           { return Text }
func (words) parse([]string) error { return nil }
func (w words) set(field reflect.Value, v []string) error {
	field.SetString(one(v))
	return nil
}

func (w words) text(field reflect.Value) []string {
	if s := field.String(); s != "" {
		return []string{s}
	}
	return []string{w.def}
}

// special is a value of a field that stands for something other than a number.
type special int

const (
	byDefault special = iota // the field is 0
	unlimited                // crawler.Unlimited or crawler.Forever
	zero                     // crawler.Zero, crawler.NoDelay or crawler.NoFactor
)

// set sets a field to s.
func (s special) set(field reflect.Value) {
	switch {
	case s == byDefault:
		field.SetZero()
	case field.CanFloat():
		field.SetFloat(crawler.NoFactor)
	case field.Type() == reflect.TypeFor[time.Duration]() && s == unlimited:
		field.SetInt(int64(crawler.Forever))
	case field.Type() == reflect.TypeFor[time.Duration]():
		field.SetInt(int64(crawler.NoDelay))
	case s == unlimited:
		field.SetInt(int64(crawler.Unlimited))
	default:
		field.SetInt(int64(crawler.Zero))
	}
}

// is reports whether a field is s.
func (s special) is(field reflect.Value) bool {
	v := reflect.New(field.Type()).Elem()
	s.set(v)
	return v.Equal(field)
}

// amount is the form of a limit: a number of items or bytes, a duration, a factor. "none" and "0" are special values of the
// field, because a zero field in a Config mostly means the default.
type amount struct {
	is   Kind
	def  float64 // default, which a zero field stands for
	none special // value of the field for "none"
	zero special // value of the field for "0"

	noNone string  // why "none" is refused; "" if it is allowed
	noZero string  // why 0 is refused; "" if it is allowed
	most   float64 // maximum value; 0: no maximum
	bare   bool    // error messages do not repeat the value
}

func (a amount) kind() Kind { return a.is }

// read parses a number. It returns -1 for "none".
func (a amount) read(text string) (n float64, err error) {
	switch a.is {
	case Whole:
		v, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return 0, fmt.Errorf("%q: want a whole number", text)
		}
		return float64(v), nil
	case Count:
		var v cli.Count
		err = v.UnmarshalText([]byte(text))
		n = float64(v)
	case Duration:
		var v cli.Duration
		err = v.UnmarshalText([]byte(text))
		n = float64(v)
	case Size:
		var v cli.Size
		err = v.UnmarshalText([]byte(text))
		n = float64(v)
	default:
		var v cli.Number
		err = v.UnmarshalText([]byte(text))
		n = float64(v)
	}
	return n, err
}

// write returns a number as text.
func (a amount) write(n float64) string {
	var m encoding.TextMarshaler
	switch a.is {
	case Duration:
		m = cli.Duration(n)
	case Size:
		m = cli.Size(n)
	case Number:
		m = cli.Number(n)
	default:
		m = cli.Count(n)
	}
	b, err := m.MarshalText()
	if err != nil { // the call never fails
		panic(err)
	}
	return string(b)
}

func (a amount) parse(v []string) error {
	_, err := a.read(one(v))
	return err
}

func (a amount) set(field reflect.Value, v []string) error {
	n, err := a.read(one(v))
	switch {
	case err != nil:
		return err
	case n < 0 && a.is == Whole:
		return errors.New(cmp.Or(a.noZero, "must be 0 or more"))
	case n < 0 && a.noNone != "":
		return errors.New(a.noNone)
	case n == 0 && a.noZero != "":
		return errors.New(a.noZero)
	case a.most > 0 && n > a.most:
		return errors.New(cmp.Or(a.noNone, a.noZero))
	case n < 0:
		a.none.set(field)
	case n == 0:
		a.zero.set(field)
	case field.CanFloat():
		field.SetFloat(n)
	default:
		field.SetInt(int64(n))
	}
	return nil
}

// takesNone reports whether "none" is a value with another meaning than 0.
func (a amount) takesNone() bool {
	return a.is != Whole && a.noNone == "" && (a.noZero != "" || a.none != a.zero)
}

func (a amount) text(field reflect.Value) []string {
	switch {
	case a.takesNone() && (a.none.is(field) || unlimited.is(field)):
		return []string{cli.None}
	case byDefault.is(field):
		return []string{a.write(a.def)}
	case field.CanFloat():
		return []string{a.write(max(0, field.Float()))}
	}
	return []string{a.write(float64(max(0, field.Int())))}
}

// choice is the form of a type with a few words as values: a string, or a type that marshals its own text.
type choice struct {
	def   string
	words []string
	read  func(string) error // also accepts alternative spellings of the words; nil if there are none
}

func (choice) kind() Kind { return Choice }

func (c choice) parse(v []string) error {
	if c.read != nil {
		return c.read(one(v))
	}
	for _, w := range c.words {
		if w == one(v) {
			return nil
		}
	}
	return fmt.Errorf("%q: want %s or %s", one(v), strings.Join(c.words[:len(c.words)-1], ", "), c.words[len(c.words)-1])
}

func (c choice) set(field reflect.Value, v []string) error { return setText(field, one(v)) }

func (c choice) text(field reflect.Value) []string {
	if field.IsZero() {
		return []string{c.def}
	}
	return []string{textOf(field)}
}

// list is the form of a list. check validates one item and returns it in its canonical form.
type list struct {
	check func(item string) (string, error)
}

func (list) kind() Kind { return List }

func (l list) parse(v []string) error {
	_, err := l.items(v)
	return err
}

func (l list) items(v []string) (items []string, err error) {
	for _, s := range v {
		if l.check != nil {
			if s, err = l.check(s); err != nil {
				return nil, err
			}
		}
		items = append(items, s)
	}
	return items, nil
}

func (l list) set(field reflect.Value, v []string) error {
	items, err := l.items(v)
	if err != nil {
		return err
	}
	all := reflect.MakeSlice(field.Type(), len(items), len(items))
	for i, s := range items {
		if err := setText(all.Index(i), s); err != nil {
			return err
		}
	}
	if len(items) == 0 {
		all = reflect.Zero(field.Type())
	}
	field.Set(all)
	return nil
}

func (l list) text(field reflect.Value) []string {
	var items []string
	for i := range field.Len() {
		items = append(items, textOf(field.Index(i)))
	}
	return items
}

// setText sets a value from its text.
func setText(field reflect.Value, text string) error {
	if u, ok := field.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	if field.CanUint() {
		n, err := strconv.ParseUint(text, 10, field.Type().Bits())
		field.SetUint(n)
		return err
	}
	field.SetString(text)
	return nil
}

// textOf returns a value as text.
func textOf(field reflect.Value) string {
	if m, ok := field.Interface().(encoding.TextMarshaler); ok {
		b, err := m.MarshalText()
		if err != nil {
			return fmt.Sprint(field)
		}
		return string(b)
	}
	return fmt.Sprint(field)
}

// addressRange returns the text of a range of addresses; a bare address is a range of one.
func addressRange(s string) (string, error) {
	prefix, err := netip.ParsePrefix(s)
	if addr, bare := netip.ParseAddr(s); bare == nil {
		prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	if err != nil {
		return "", fmt.Errorf("%q: want an address range such as 192.0.2.0/24 or fd00::/8", s)
	}
	return prefix.Masked().String(), nil
}

func port(s string) (string, error) {
	if _, err := strconv.ParseUint(s, 10, 16); err != nil {
		return "", fmt.Errorf("%q: want a port from 0 to 65535", s)
	}
	return s, nil
}

// own is the form of a type with its own parse and format functions.
type own[T any] struct {
	is    Kind
	read  func(v []string) (T, error)
	write func(T) []string
	late  bool // errors come from set, with key and value, and not from parse
}

func (o own[T]) kind() Kind { return o.is }

func (o own[T]) parse(v []string) error {
	if o.late {
		return nil
	}
	_, err := o.read(v)
	return err
}

func (o own[T]) set(field reflect.Value, v []string) error {
	x, err := o.read(v)
	if err == nil {
		field.Set(reflect.ValueOf(&x).Elem())
	}
	return err
}

func (o own[T]) text(field reflect.Value) []string { return o.write(field.Interface().(T)) }

// secretGone replaces the user name and password of a proxy in a job, because they are not kept there.
const secretGone = "***"

// proxyOf reads the URL of a proxy.
func proxyOf(v []string) (*url.URL, error) {
	if one(v) == "" {
		return nil, nil
	}
	u, err := url.Parse(one(v))
	switch {
	case err != nil, u.Hostname() == "":
		return nil, errors.New("want a URL such as http://proxy.university.edu:3128 or socks5://127.0.0.1:1080")
	case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5":
		return nil, errors.New("a proxy is http, https or socks5")
	case !validPort(u):
		return nil, errors.New("a port is 1 to 65535")
	case u.User != nil && u.User.Username() == secretGone:
		return nil, errors.New("a job does not keep user name and password: give the proxy again")
	case u.Path != "" && u.Path != "/" || u.RawQuery != "":
		return nil, errors.New("want no more than scheme, host and port")
	}
	return u, nil
}

func validPort(u *url.URL) bool {
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return u.Port() == "" || err == nil && n > 0
}

func proxyText(u *url.URL) []string {
	if u == nil {
		return []string{""}
	}
	return []string{u.String()}
}

// WithoutSecrets returns a URL, or an invalid one, in a form that may be shown: the part before the host is hidden, because it
// may be a password.
func WithoutSecrets(s string) string {
	scheme, rest, ok := strings.Cut(s, "//")
	authority, _, _ := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(authority, '@'); ok && i >= 0 {
		return scheme + "//" + secretGone + rest[i:]
	}
	return s
}

// sourceAddress reads an address of this machine.
func sourceAddress(v []string) (addr netip.Addr, err error) {
	if one(v) == "" {
		return addr, nil
	}
	addr, err = netip.ParseAddr(one(v))
	if err != nil || addr.Zone() != "" || addr.IsUnspecified() {
		err = errors.New("want an address of this machine, such as 192.0.2.7")
	}
	return addr, err
}

func addressText(a netip.Addr) []string {
	if !a.IsValid() {
		return []string{""}
	}
	return []string{a.String()}
}

// clock parses a time of day, as the time since midnight.
func clock(text string) (time.Duration, error) {
	t, err := time.Parse("15:04", strings.TrimSpace(text))
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, err
}

// noPage is the text of an empty Crawl.Promises.
const noPage = "none"

func readPromises(v []string) (string, error) {
	page := one(v)
	if page == noPage {
		return "", nil
	}
	return page, politeness.Identity{Product: "x", Promises: page}.Validate(true)
}

func promisesText(page string) []string { return []string{cmp.Or(page, noPage)} }
