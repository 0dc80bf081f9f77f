package parquet_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	library "github.com/parquet-go/parquet-go"

	"github.com/amble-crawler/amble/sink/items/parquet"
)

type product struct {
	Name  string    `json:"name"`
	Price *float64  `json:"price"`
	Stock int32     `json:"stock"`
	Seen  time.Time `json:"seen" parquet:"seen,timestamp(microsecond)"`
	Tags  []string  `json:"tags" parquet:"tags,list"`
	Sold  bool
}

func TestColumnsHaveTypesOfStruct(t *testing.T) {
	var out bytes.Buffer
	seen := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	price := 9.5
	all := []product{{"a", &price, 7, seen, []string{"x", "y"}, true}, {Name: "b", Seen: seen}}
	f := parquet.Format[product]()
	rows := func(yield func(json.RawMessage, error) bool) {
		for _, p := range all {
			b, err := json.Marshal(p)
			if !yield(b, err) {
				return
			}
		}
	}
	if err := f.Write(&out, rows); err != nil {
		t.Fatal(err)
	}
	p, err := library.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	want := "message product {\n\trequired binary name (STRING);\n\toptional double price;\n\trequired int32 stock (INT(32,true));\n\trequired int64 seen (TIMESTAMP(isAdjustedToUTC=true,unit=MICROS));\n\trequired group tags (LIST) {\n\t\trepeated group list {\n\t\t\trequired binary element (STRING);\n\t\t}\n\t}\n\trequired boolean Sold;\n}"
	if got := p.Schema().String(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	var shorter bytes.Buffer
	if err := f.Cut(&shorter, bytes.NewReader(out.Bytes()), int64(out.Len()), 1); err != nil {
		t.Fatal(err)
	}
	got, err := library.Read[struct {
		Name  string    `parquet:"name"`
		Price *float64  `parquet:"price,optional"`
		Seen  time.Time `parquet:"seen,timestamp(microsecond)"`
		Tags  []string  `parquet:"tags,list"`
	}](bytes.NewReader(shorter.Bytes()), int64(shorter.Len()))
	if err != nil || len(got) != 1 || got[0].Name != "a" || *got[0].Price != price || !got[0].Seen.Equal(seen) || len(got[0].Tags) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestTypesWithoutSchemaAreRefused(t *testing.T) {
	if err := parquet.Format[int]().Err; err == nil {
		t.Error("an int has columns")
	}
	if err := parquet.Format[struct{ F func() }]().Err; err == nil {
		t.Error("a function has a type")
	}
}
