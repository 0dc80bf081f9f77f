package chromium

import (
	"os"
	"path/filepath"
	"strconv"
)

// nobody is the user and the group that browsers run as when root starts them.
const nobody = 65534

// user is whom a browser runs as: nobody, or nil for the user we are.
type user struct{ id int }

func browserUser() *user {
	if os.Geteuid() == 0 {
		return &user{nobody}
	}
	return nil
}

func (u *user) String() string {
	if u == nil {
		return strconv.Itoa(os.Geteuid())
	}
	return strconv.Itoa(u.id)
}

// own makes a file the user's.
func (u *user) own(path string) error {
	if u == nil {
		return nil
	}
	return os.Chown(path, u.id, u.id)
}

// reaches reports whether the user can enter a directory and all above it.
func (u *user) reaches(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	if u == nil {
		return true
	}
	dir, err = filepath.Abs(dir)
	for err == nil {
		if info, err = os.Stat(dir); err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
		dir = filepath.Dir(dir)
	}
	return false
}
