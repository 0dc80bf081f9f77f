// Command report runs the benchmarks one after the other and prints their figures as tables in Markdown, including those of
// docs/performance.md:
//
//	go run ./tools/bench/report -o performance.md
//
// Nothing else should run at the same time. It takes about ten minutes on two processors; -benchtime and -count make figures less or more
// exact. Ratios compare measurements from one run of one benchmark. If a benchmark is run several times, the median counts.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"time"
)

// set is a group of benchmarks whose figures form one table.
type set struct {
	title, bench, time string
	packages           []string
	columns            []string // units to show, in this order; nil: all
}

var sets = []set{
	{"Whole crawls and their ceilings", "^BenchmarkCrawl$", "3x", []string{"./tools/bench"},
		[]string{"cpu-ms/page", "fetch-cpu-ms/page", "tok-cpu-ms/page", "cpu/fetch", "cpu/tok", "allocs/page", "B/page", "heap-MB", "pages/s"}},
	{"Other kinds of webs and the limit of each", "^BenchmarkKinds$", "3x", []string{"./tools/bench"},
		[]string{"cpu-ms/page", "limit-cpu-ms/page", "cpu/limit", "cpu/tok", "conns/host", "resumed/conn", "pages/s"}},
	{"As a crawl grows", "^Benchmark(Growth|Hosts)$", "1x", []string{"./tools/bench"},
		[]string{"cpu-ms/page", "pages/s", "rss-MB"}},
	{"Durability", "^BenchmarkDurable$", "3x", []string{"./tools/bench"},
		[]string{"memory-cpu-ms/page", "durable-cpu-ms/page", "durable/memory"}},
	{"Stores", "^BenchmarkStored$", "3x", []string{"./tools/bench"},
		[]string{"job-cpu-ms/page", "directory/job", "bucket/job"}},
	{"The queue on disk", "^Benchmark(Settle|Commit)$", "2000x", []string{"./frontier/disk"}, nil},
	{"At scale, on disk", "^Benchmark(Scale|ManyHosts)$", "1x", []string{"./tools/bench"},
		[]string{"cpu-ms/page", "last/first", "rss-MB", "restart-s", "admitted/s", "cpu-ms/host", "hosts/s", "pages/s"}},
	{"Delays", "^Benchmark(Polite|Latency)$", "1x", []string{"./tools/bench"},
		[]string{"makespan/ideal", "rate/bound", "violations", "cpu-ms/page"}},
	{"Parts", ".", "", []string{"./weburl", "./extract", "./robots", "./frontier", "./politeness", "./politeness/audit", "./fetcher", "./sink"}, nil},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	f := flag.NewFlagSet("report", flag.ContinueOnError)
	f.SetOutput(stderr)
	out := f.String("o", "", "write to this `file` instead of standard output")
	count := f.Int("count", 3, "how often each benchmark runs")
	benchtime := f.String("benchtime", "", "how long or how often each runs, in place of each set's own")
	if err := f.Parse(args); err != nil {
		return err
	}
	w := stdout
	if *out != "" {
		file, err := os.Create(*out)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		w = file
	}
	head(w)
	for _, s := range sets {
		if *benchtime != "" {
			s.time = *benchtime
		}
		rows, err := s.measure(ctx, *count, stderr)
		if err != nil {
			return err
		}
		if err := s.table(w, rows); err != nil {
			return err
		}
	}
	return counts(ctx, w, stderr)
}

// counts writes the costs that tests measure, which do not depend on the load of the machine.
func counts(ctx context.Context, w, log io.Writer) error {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^Test(Allocs|Makespan)", "-count", "1", "-v", "./tools/bench")
	cmd.Stderr = log
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	_, err = fmt.Fprintf(w, "\n## Counts\n\n```\n%s```\n", out)
	return err
}

// head describes the machine and the versions.
func head(w io.Writer) {
	fmt.Fprintf(w, "# Figures\n\n%s, %s, %s/%s, %d processors, %s.\n",
		time.Now().Format("2 January 2006"), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), processor())
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		fmt.Fprintf(w, "Version %s.\n", info.Main.Version)
	}
}

// measure runs the benchmarks of s, count times. Other output of the tests goes to log.
func (s set) measure(ctx context.Context, count int, log io.Writer) ([]row, error) {
	fmt.Fprintf(log, "%s: %s\n", s.title, time.Now().Format(time.TimeOnly))
	args := []string{"test", "-run", "^$", "-bench", s.bench, "-benchmem", "-count", fmt.Sprint(count), "-timeout", "1h"}
	if s.time != "" {
		args = append(args, "-benchtime", s.time)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, s.packages...)...)
	cmd.Stderr = log
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return medians(string(out)), nil
}
