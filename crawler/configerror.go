package crawler

import (
	"fmt"
	"strings"
)

// ConfigError is a field of a Config with an invalid value. [Config.Validate] joins one for each such field
// with the errors of the Configs inside it: errors.As finds the first of them, and Unwrap() []error of the
// joined error returns all.
type ConfigError struct {
	Field   string // "Limits.Depth", "Seeds[3].URL"
	Problem string // what is wrong with it: "is -7: must be 1 or more"
	Err     error  // the cause, if there is one
}

func (e *ConfigError) Error() string { return "crawler: " + e.Field + " " + e.Problem }

// Unwrap returns the cause, nil if there is none.
func (e *ConfigError) Unwrap() error { return e.Err }

// configError makes a ConfigError from a sentence that begins with the field.
func configError(format string, args ...any) *ConfigError {
	field, problem, _ := strings.Cut(fmt.Sprintf(format, args...), " ")
	return &ConfigError{Field: field, Problem: problem}
}
