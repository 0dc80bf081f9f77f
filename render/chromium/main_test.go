package chromium_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/amble-crawler/amble/render/chromium"
	"github.com/amble-crawler/amble/render/rendertest"
)

func TestMain(m *testing.M) {
	together()
	code := m.Run()
	if err := errors.Join(common.Close(), goleak.Find()); code == 0 && err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		code = 1
	}
	os.Exit(code)
}

// together lets four parallel tests run at the same time, even with fewer processors: a page often waits to see whether it needs more
// resources. More tests would keep the machine busy. The flag -parallel overrides the number.
func together() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", "4") // every test has this flag
	}
}

// browser is a Renderer that is started when it is first needed.
type browser struct {
	config chromium.Config
	once   sync.Once
	r      *chromium.Renderer
	err    error
}

// common is for all pages that need no browser of their own: starting a browser takes longer than rendering most of them.
var common = &browser{config: chromium.Config{Tabs: 2}}

// patience is the time that pages of most tests have to respond: on a busy machine five seconds are not enough.
const patience = time.Minute / 2

func (b *browser) get(t *testing.T) *chromium.Renderer {
	t.Helper()
	b.once.Do(func() {
		if b.r, b.err = chromium.New(context.Background(), b.config); b.err == nil {
			b.r.StuckAfter(patience)
		}
	})
	if b.err != nil {
		rendertest.Unavailable(t, b.err)
	}
	return b.r
}

// Close ends the browser if it was started.
func (b *browser) Close() error {
	b.once.Do(func() {})
	if b.r == nil {
		return nil
	}
	return b.r.Close()
}
