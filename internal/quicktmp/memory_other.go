//go:build !linux

package quicktmp

func memory() string { return "" }
