package nats

import (
	"testing"

	"github.com/amble-crawler/amble/internal/quicktmp"
)

func TestMain(m *testing.M) {
	quicktmp.Use()
	quicktmp.Waiting()
	m.Run()
}
