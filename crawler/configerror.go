package crawler

import (
	"fmt"
	"strings"
)

// ConfigError is a field of a Config with a value that it cannot have. [Config.Validate] joins one for
// each such field with what the Configs inside it have to say: errors.As finds the first of them, and
// Unwrap() []error of the joined error has all.
type ConfigError struct {
	Field   string // "Limits.Depth", "Seeds[3].URL"
	Problem string // what is wrong with it: "is -7: must be 1 or more"
	Err     error  // the cause, where there is one
}

func (e *ConfigError) Error() string { return "crawler: " + e.Field + " " + e.Problem }

// Unwrap is the cause, nil without one.
func (e *ConfigError) Unwrap() error { return e.Err }

// configError makes one of a sentence that begins with the field.
func configError(format string, args ...any) *ConfigError {
	field, problem, _ := strings.Cut(fmt.Sprintf(format, args...), " ")
	return &ConfigError{Field: field, Problem: problem}
}
