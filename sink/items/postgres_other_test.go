//go:build !linux

package items_test

import (
	"database/sql"
	"testing"
)

func postgres(t *testing.T) *sql.DB {
	t.Helper()
	t.Skip("the test starts PostgreSQL on Linux only")
	return nil
}
