// Command figures measures the size and the structure of the repository, and compares the figures with recorded limits.
//
//	cd tools && go run ./figures             # print each figure beside its limit; exit with 1 if one is higher
//	cd tools && go run ./figures -update     # record lower figures; a higher one needs -reason
//
// Figures may only fall. The file limits.txt has one figure per line: its limit, its name and, after a rise, the reason.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// figure is one measurement. Lower is better.
type figure struct {
	name  string
	value int
}

// limit is the recorded limit of a figure, with the reason for its last rise, which may be "".
type limit struct {
	value  int
	reason string
}

func main() {
	root := flag.String("C", "..", "the `directory` of the repository")
	file := flag.String("limits", "figures/limits.txt", "the `file` of recorded limits")
	update := flag.Bool("update", false, "record the figures measured now")
	reason := flag.String("reason", "", "why figures rise; required by -update if one does")
	flag.Parse()
	if err := run(*root, *file, *update, *reason); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

// run measures the repository, prints the figures, and checks or records them.
func run(root, file string, update bool, reason string) error {
	measured, err := measure(root)
	if err != nil {
		return err
	}
	limits, err := readLimits(file)
	if err != nil && !(update && errors.Is(err, os.ErrNotExist)) {
		return err
	}
	first := len(limits) == 0
	var risen []string
	for _, f := range measured {
		was, known := limits[f.name]
		mark := ""
		if !first && (!known || f.value > was.value) {
			risen = append(risen, f.name)
			mark = "  higher"
		}
		fmt.Printf("%8d  limit %8d  %s%s\n", f.value, was.value, f.name, mark)
	}
	switch {
	case !update && len(risen) > 0:
		return fmt.Errorf("above the limits in %s: %s; lower them, or run figures -update -reason WHY", file, strings.Join(risen, ", "))
	case !update:
		return nil
	case len(risen) > 0 && reason == "":
		return fmt.Errorf("figures rise (%s): say why with -reason", strings.Join(risen, ", "))
	}
	var b strings.Builder
	for _, f := range measured {
		why := limits[f.name].reason
		if f.value > limits[f.name].value && !first {
			why = reason
		}
		value := f.value
		if value > 10_000 { // lines are rounded up to a hundred, so that a small change needs no entry
			value = (value + 100) / 100 * 100
		}
		fmt.Fprintln(&b, strings.TrimSuffix(fmt.Sprintf("%d\t%s\t%s", value, f.name, why), "\t"))
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}

// readLimits reads lines with a value, a name and an optional reason, separated by tabs.
func readLimits(file string) (map[string]limit, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	limits := map[string]limit{}
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		part := strings.SplitN(line, "\t", 3)
		if len(part) < 2 {
			return nil, fmt.Errorf("%s:%d: want VALUE, NAME and optionally a reason, separated by tabs", file, i+1)
		}
		value, err := strconv.Atoi(part[0])
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
		l := limit{value: value}
		if len(part) == 3 {
			l.reason = part[2]
		}
		limits[part[1]] = l
	}
	return limits, nil
}
