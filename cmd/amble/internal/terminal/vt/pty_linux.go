package vt

import (
	"os"
	"strconv"
	"syscall"
	"unsafe"
)

// Open opens a pseudo-terminal of this size: what a program writes to tty can be read from pty.
func Open(columns, rows int) (pty, tty *os.File, err error) {
	pty, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	var unlock int32
	var number uint32
	size := [4]uint16{uint16(rows), uint16(columns)}
	if err = ioctl(pty, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock)); err == nil {
		err = ioctl(pty, syscall.TIOCGPTN, unsafe.Pointer(&number))
	}
	if err == nil {
		tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(int(number)), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err == nil {
		err = ioctl(tty, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	}
	if err != nil {
		_ = pty.Close() // the first error matters more
		return nil, nil, err
	}
	return pty, tty, nil
}

func ioctl(f *os.File, request uintptr, arg unsafe.Pointer) error {
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}
