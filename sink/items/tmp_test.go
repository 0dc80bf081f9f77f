package items_test

import (
	"testing"

	"github.com/amble-crawler/amble/internal/quicktmp"
)

func TestMain(m *testing.M) {
	quicktmp.Use()
	m.Run()
}
