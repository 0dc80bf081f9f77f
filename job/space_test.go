package job

import (
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
)

func TestSpaceLeftIsThatOfTheFirstLimit(t *testing.T) {
	for _, c := range []struct {
		s    Space
		left int64
		by   crawler.Finish
	}{
		{Space{Free: 100}, 100, crawler.FinishMinFree},
		{Space{Free: 100, MinFree: 30}, 70, crawler.FinishMinFree},
		{Space{Free: 100, MinFree: 130}, -30, crawler.FinishMinFree},
		{Space{Free: 100, MinFree: 30, Used: 10, MaxDisk: 200}, 70, crawler.FinishMinFree},
		{Space{Free: 100, MinFree: 30, Used: 10, MaxDisk: 50}, 40, crawler.FinishMaxDisk},
		{Space{Free: 100, MinFree: 30, Used: 60, MaxDisk: 50}, -10, crawler.FinishMaxDisk},
	} {
		if left, by := c.s.Left(); left != c.left || by != c.by {
			t.Errorf("%+v: %d left by %s, want %d by %s", c.s, left, by, c.left, c.by)
		}
	}
}

func TestSpaceLastsAtThePaceSoFar(t *testing.T) {
	for _, c := range []struct {
		s     Space
		taken time.Duration
		want  time.Duration
	}{
		{Space{Free: 300, Used: 100}, time.Hour, 3 * time.Hour},
		{Space{Free: 300, MinFree: 300, Used: 100}, time.Hour, 0},
		{Space{Free: 300}, time.Hour, 0},
		{Space{Free: 1 << 62, Used: 1}, time.Hour, 100 * 365 * 24 * time.Hour},
	} {
		if got := c.s.Lasts(c.taken); got != c.want {
			t.Errorf("%+v after %v: lasts %v, want %v", c.s, c.taken, got, c.want)
		}
	}
}

func TestMinFreeIsReadAsWritten(t *testing.T) {
	for text, want := range map[string]crawler.Limit{"auto": 0, "none": crawler.Zero, "0": crawler.Zero, "500MiB": 500 << 20} {
		n, err := readMinFree([]string{text})
		if err != nil || n != want {
			t.Errorf("%s: %d, %v; want %d", text, n, err, want)
		}
		if again, err := readMinFree(minFreeText(n)); err != nil || again != want {
			t.Errorf("%s is written as %v", text, minFreeText(n))
		}
	}
	if _, err := readMinFree([]string{"plenty"}); err == nil {
		t.Error("plenty is a size")
	}
}
