package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
)

// blockBytes is the size of the blocks that are decoded at once.
const blockBytes = 256 << 10

// TestDecodedLinesAreInOrder decodes lines of all lengths, some about as long as a block or longer. The result equals that of
// encoding/json, and an incomplete last line is left out.
func TestDecodedLinesAreInOrder(t *testing.T) {
	var text strings.Builder
	var want []sink.Record
	add := func(url string) {
		line := fmt.Sprintf(`{"schema":"amble.visit/1","url":%q,"depth":%d,"outcome":"fetched"}`+"\n", url, len(want))
		var v sink.Record
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		want = append(want, v)
		text.WriteString(line)
	}
	for i := range 20_000 {
		add(fmt.Sprint("http://a.test/", i, strings.Repeat("é\"", i%50)))
		if i%5000 == 0 {
			add("http://a.test/" + strings.Repeat("x", blockBytes*(i/5000)+i))
		}
	}
	for _, torn := range []string{"", `{"url":"http://b.test/`, strings.Repeat("x", 3*blockBytes)} {
		i := 0
		d := dirWith(t, VisitsName, text.String()+torn)
		n := 0
		first := func(v *sink.Record) { // called before the other function
			if v.Depth != n {
				t.Errorf("visit %d is %.200v", n, *v)
			}
			v.Status = -v.Depth
			n++
		}
		err := decoded(d, VisitsName, parseVisits, first, func(v *sink.Record) {
			if v.Status != -v.Depth {
				t.Fatalf("visit %d was not passed to the first", i)
			}
			if v.Status = 0; i == len(want) || !reflect.DeepEqual(*v, want[i]) {
				t.Fatalf("visit %d is %.200v", i, *v)
			}
			i++
		})
		if err != nil || i != len(want) {
			t.Errorf("%.10q: %d visits of %d, %v", torn, i, len(want), err)
		}
	}
}

// TestALineThatCannotBeDecodedIsNamed checks that wherever a bad line is, all lines before it are used, and none after it.
func TestALineThatCannotBeDecodedIsNamed(t *testing.T) {
	const line = `{"event":"end","run":"r","id":1}` + "\n"
	for _, before := range []int{0, 1, 7000, 20_000} {
		for _, bad := range []string{"nonsense", `{"event":1}`, "", `{"event":"end","run":"r","id":1} x`} {
			n := 0
			d := dirWith(t, LedgerName, strings.Repeat(line, before)+bad+"\n"+strings.Repeat(line, 30_000)) // four blocks
			err := decoded(d, LedgerName, parseLedger, func(*ledger.Entry) {}, func(*ledger.Entry) { n++ })
			var told *Error
			if n != before || !errors.As(err, &told) || !strings.Contains(err.Error(), fmt.Sprintf("line %d of %s: ", before+1, d.path(LedgerName))) {
				t.Errorf("%q after %d lines: %d lines, %v", bad, before, n, err)
			}
		}
	}
	if err := decoded(dirWith(t, LedgerName, ""), VisitsName, parseVisits, nil, nil); !missingFile(err) {
		t.Error(err)
	}
}

func dirWith(t *testing.T, name, text string) plainDir {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := openDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.close() })
	return d
}
