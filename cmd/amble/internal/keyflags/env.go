package keyflags

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
)

// unkeyed lists the flags that are only meant for a single invocation.
var unkeyed = []string{"help", "help-all", "version", "completion", "config", "plan", "service", "simulate", "print-config", "commented", "fresh", "retry", "trust", "listen", "listen-token", "debug"}

// OfInvocation reports whether a flag is only meant for a single invocation: it has neither an environment variable nor a key.
func OfInvocation(flag string) bool { return slices.Contains(unkeyed, flag) }

// envName returns the environment variable of a flag.
func envName(flag string) string {
	return "AMBLE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// isShown reports whether a flag only concerns the output of this process.
func isShown(flag string) bool {
	k := job.KeyNamed(flag)
	return k != nil && k.Freedom == job.Shown && flag != "out" && flag != "no-keep" && flag != "seeds"
}

// UnknownEnv returns warnings about variables of environ ("NAME=value" each, as from os.Environ) that look like settings of the
// application but are unknown. They are not errors: another version of amble, or another program, may use them.
func UnknownEnv(model *kong.Application, environ []string) (wrong []string) {
	known := []string{envName("config")}
	for _, cmd := range model.Leaves(false) {
		for _, f := range cmd.Flags {
			known = append(known, envName(f.Name))
		}
	}
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "AMBLE_") && !slices.Contains(known, name) {
			wrong = append(wrong, fmt.Sprintf("environment variable %s is not a setting%s", name, cli.DidYouMean(name, known)))
		}
	}
	return wrong
}
