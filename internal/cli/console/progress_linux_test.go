package console

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/foliot/foliot/internal/fatal"
)

// terminal returns the two ends of a terminal with a width.
func terminal(t *testing.T, columns uint16) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	var number, unlocked int32
	size := [4]uint16{24, columns}
	for request, value := range map[uintptr]unsafe.Pointer{
		syscall.TIOCSPTLCK: unsafe.Pointer(&unlocked), syscall.TIOCGPTN: unsafe.Pointer(&number), syscall.TIOCSWINSZ: unsafe.Pointer(&size),
	} {
		if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request, uintptr(value)); e != 0 {
			t.Fatal(e)
		}
	}
	slave, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	fatal.If(t, err)
	return master, slave
}

func TestProgressCountsEachPartOfTheWorkAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shown strings.Builder
		p := NewProgress(New(nil, io.Discard, &shown, false), "copied", -1)
		p.Add(1000)
		time.Sleep(time.Minute)
		p.Begin("compared")
		time.Sleep(10 * time.Second)
		p.Add(100)
		if want := "compared 100 tasks, 10 a second\n"; shown.String() != want {
			t.Errorf("it shows %q, want %q", shown.String(), want)
		}
	})
}

func TestProgressFitsIntoOneLineOfATerminal(t *testing.T) {
	for _, columns := range []uint16{80, 120} {
		master, slave := terminal(t, columns)
		synctest.Test(t, func(*testing.T) {
			p := NewProgress(New(nil, slave, slave, false), "called", 10_000)
			for done := range 4 {
				time.Sleep(time.Second)
				p.Show(strings.Repeat("12,345 called, ", 20), 1000*done)
			}
			p.Notef("a note")
		})
		fatal.If(t, slave.Close())
		shown, err := io.ReadAll(master)
		if err != nil && !errors.Is(err, syscall.EIO) { // EIO is its end
			t.Fatal(err)
		}
		for part := range strings.FieldsFuncSeq(string(shown), func(r rune) bool { return r == '\r' || r == '\n' }) {
			if n := utf8.RuneCountInString(part); n > int(columns) {
				t.Errorf("%d of %d columns: %q", n, columns, part)
			}
		}
		if text := string(shown); !strings.Contains(text, "20%") || !strings.HasSuffix(text, clearLine+"a note\r\n") {
			t.Errorf("%q", text)
		}
		fatal.If(t, master.Close())
	}
}
