package machine

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
)

// StateVariable is the environment variable with which a user chooses another state directory.
const StateVariable = "AMBLE_STATE"

// Dir returns the state directory of the user: that of [StateVariable], or amble in XDG_STATE_HOME, or in the system's place for
// state. That is below the user's home directory as the system knows it, whatever HOME says. The error says what to set.
func Dir() (string, error) {
	if dir := os.Getenv(StateVariable); dir != "" {
		return filepath.Abs(dir)
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "amble"), nil
	}
	if runtime.GOOS == "windows" {
		dir, err := os.UserCacheDir() // %LocalAppData% on Windows
		return filepath.Join(dir, "amble", "state"), err
	}
	u, err := user.Current()
	if err != nil || u.HomeDir == "" {
		return "", fmt.Errorf("the user has no home directory: name a state directory in %s", StateVariable)
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(u.HomeDir, "Library", "Application Support", "amble"), nil
	}
	return filepath.Join(u.HomeDir, ".local", "state", "amble"), nil
}

// makeDir creates the state directory if it is missing, and rejects a directory to which other users can write.
func makeDir(dir string) error {
	if dir == "" {
		return errors.New("no state directory is named")
	}
	for _, d := range []string{dir, filepath.Join(dir, crawlsName), filepath.Join(dir, robotsName), filepath.Join(dir, jobsName)} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
		info, err := os.Stat(d)
		if err != nil {
			return err
		}
		if mode := info.Mode(); runtime.GOOS != "windows" && mode.Perm()&0o022 != 0 {
			return fmt.Errorf("others can write to %s, which has mode %04o: chmod 700 it, or name a new directory in it", d, mode.Perm())
		}
	}
	return nil
}
