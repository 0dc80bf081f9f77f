//go:build linux

package items_test

import (
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// postgres starts a server without a network. If root runs the test, the server runs as an unprivileged user. The test
// is skipped if PostgreSQL is not installed.
func postgres(t *testing.T) *sql.DB {
	t.Helper()
	bins, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if path, err := exec.LookPath("initdb"); err == nil {
		bins = append(bins, path)
	}
	if len(bins) == 0 {
		t.Skip("PostgreSQL is not installed: its initdb is neither in PATH nor in /usr/lib/postgresql")
	}
	dir, err := os.MkdirTemp("/tmp", "pg") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	run := func(name string, args ...string) {
		cmd := exec.Command(filepath.Join(filepath.Dir(bins[0]), name), args...)
		cmd.Dir = dir
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		out, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o666)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Run(); err != nil {
			text, _ := os.ReadFile(out.Name())
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, text)
		}
	}
	if os.Getuid() == 0 {
		if err := os.Chown(dir, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(dir, "data")
	run("initdb", "-D", data, "-U", "crawler", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	run("pg_ctl", "-D", data, "-w", "-o", "-c listen_addresses='' -c fsync=off -k "+dir, "start")
	t.Cleanup(func() { run("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop") })
	db, err := sql.Open("pgx", "host="+dir+" user=crawler dbname=postgres")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}
