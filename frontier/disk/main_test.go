package disk

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/amble-crawler/amble/internal/quicktmp"
)

func TestMain(m *testing.M) {
	quicktmp.Use()
	flag.Parse()
	if dir := os.Getenv(victimDir); dir != "" {
		fmt.Println("failed", victim(dir, os.Getenv(victimDir+"_LIFE")))
		os.Exit(1)
	}
	if dir := os.Getenv(damagedDir); dir != "" {
		switch err := resumed(dir); {
		case err == nil:
			fmt.Println("ok")
		case errors.Is(err, ErrDamaged):
			fmt.Println("damaged:", err)
		default:
			fmt.Println("failed:", err)
		}
		return
	}
	if dir := os.Getenv(measuredDir); dir != "" {
		if err := measured(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}
