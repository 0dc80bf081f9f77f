package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// All returns the items of a type, including nested ones, in document order, as values of T, which must be a struct. A field gets the
// property named in its json tag; without a tag, the name is the field's, with a small first letter. A string gets the first value as text
// (of an item, the name or the identifier); a number or a bool the first value that can be converted; a struct or a pointer to one the
// first item; a slice all values; an any the first value unchanged. The fields "@id" and "@type" get the identifier and the types. If a
// property is missing or does not fit, its field stays zero.
//
// The error means that T is not a struct or has a field of an unsupported type.
func All[T any](p *Page, typ string) ([]T, error) {
	var list []T
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("schema: %s is not a struct", t)
	}
	if err := check(t, map[reflect.Type]bool{}); err != nil {
		return nil, err
	}
	d := decoder{left: maxValues}
	for _, it := range p.Find(typ) {
		var v T
		d.decode(reflect.ValueOf(&v).Elem(), it, 0)
		list = append(list, v)
	}
	return list, nil
}

// check returns an error about the first field of a type that cannot be decoded.
func check(t reflect.Type, seen map[reflect.Type]bool) error {
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Int32, reflect.Float64, reflect.Float32:
		return nil
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return nil
		}
	case reflect.Slice, reflect.Pointer:
		return check(t.Elem(), seen)
	case reflect.Struct:
		if seen[t] {
			return nil
		}
		seen[t] = true
		for f := range fields(t) {
			if err := check(f.Type, seen); err != nil {
				return fmt.Errorf("schema: field %s of %s: %w", f.Name, t, err)
			}
		}
		return nil
	}
	return errors.New("schema: no property can be of type " + t.String())
}

// fields returns an iterator over the exported fields of a struct.
func fields(t reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && f.Tag.Get("json") != "-" && !yield(f) {
				return
			}
		}
	}
}

// decoder limits the number of decoded items: an item is decoded again for each reference to it.
type decoder struct{ left int }

// decode fills a struct from an item.
func (d *decoder) decode(v reflect.Value, it *Item, depth int) {
	for f := range fields(v.Type()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = strings.ToLower(f.Name[:1]) + f.Name[1:]
		}
		values := it.Properties[name]
		switch name {
		case "@id":
			values = []any{it.ID}
		case "@type":
			values = nil
			for _, t := range it.Types {
				values = append(values, t)
			}
		}
		d.set(v.FieldByIndex(f.Index), values, depth)
	}
}

// set sets a field from the values of a property, and reports whether a value fits.
func (d *decoder) set(f reflect.Value, values []any, depth int) bool {
	if f.Kind() == reflect.Slice {
		for _, v := range values {
			e := reflect.New(f.Type().Elem()).Elem()
			if d.set(e, []any{v}, depth) {
				f.Set(reflect.Append(f, e))
			}
		}
		return f.Len() > 0
	}
	for _, v := range values {
		if d.setOne(f, v, depth) {
			return true
		}
	}
	return false
}

func (d *decoder) setOne(f reflect.Value, v any, depth int) bool {
	if d.left--; d.left < 0 {
		return false
	}
	it, isItem := v.(*Item)
	switch f.Kind() {
	case reflect.Interface:
		f.Set(reflect.ValueOf(v))
		return true
	case reflect.Pointer:
		e := reflect.New(f.Type().Elem())
		if !d.setOne(e.Elem(), v, depth) {
			return false
		}
		f.Set(e)
		return true
	case reflect.Struct:
		if !isItem || depth > maxDepth {
			return false
		}
		d.decode(f, it, depth+1)
		return true
	}
	s := plain(v)
	switch f.Kind() {
	case reflect.String:
		f.SetString(s)
		return s != ""
	case reflect.Bool:
		b, err := strconv.ParseBool(strings.ToLower(local(s)))
		f.SetBool(b && err == nil)
		return err == nil
	case reflect.Float64, reflect.Float32:
		n, err := strconv.ParseFloat(s, 64)
		if err == nil {
			f.SetFloat(n)
		}
		return err == nil
	default:
		n, err := strconv.ParseInt(s, 10, f.Type().Bits())
		if err == nil {
			f.SetInt(n)
		}
		return err == nil
	}
}

// plain returns a value as text.
func plain(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	case *Item:
		if names := v.Properties["name"]; len(names) > 0 {
			if s, ok := names[0].(string); ok {
				return s
			}
		}
		return v.ID
	}
	return ""
}

// MarshalJSON returns an item as JSON-LD without a context. A property with a single value is that value; with several values it is a list.
// Items that are nested deeper than 64 are written as references.
func (it *Item) MarshalJSON() ([]byte, error) { return json.Marshal(it.document(0, new(int))) }

// document returns an item as a JSON object. It limits the number of items, because an item is written again for each reference to it.
func (it *Item) document(depth int, written *int) map[string]any {
	m := map[string]any{}
	if it.ID != "" {
		m["@id"] = it.ID
	}
	*written++
	for _, values := range it.Properties {
		*written += len(values)
	}
	if depth > maxDepth || *written > maxValues {
		return m
	}
	if len(it.Types) == 1 {
		m["@type"] = it.Types[0]
	} else if len(it.Types) > 1 {
		m["@type"] = it.Types
	}
	for _, name := range sortedNames(it.Properties) {
		var list []any
		for _, v := range it.Properties[name] {
			if sub, ok := v.(*Item); ok {
				v = sub.document(depth+1, written)
			}
			list = append(list, v)
		}
		if len(list) == 1 {
			m[name] = list[0]
		} else {
			m[name] = list
		}
	}
	return m
}
