package redistest

import (
	"bufio"
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestAValueIsReadToItsEnd(t *testing.T) {
	for _, value := range []string{
		"+OK\r\n", ":7\r\n", "$-1\r\n", "$3\r\na\nb\r\n", "*-1\r\n", "*0\r\n", "_\r\n",
		"*2\r\n$1\r\na\r\n*1\r\n:1\r\n", "%1\r\n+a\r\n$1\r\nb\r\n", "|1\r\n+a\r\n+b\r\n+OK\r\n",
		">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n",
	} {
		got, err := readValue(bufio.NewReader(strings.NewReader(value + "+NEXT\r\n")))
		if err != nil || string(got) != value {
			t.Errorf("of %q it read %q (%v)", value, got, err)
		}
	}
}

func TestACommandIsItsWords(t *testing.T) {
	if got := words([]byte("*2\r\n$3\r\nGET\r\n$2\r\n\r\n\r\n")); !slices.Equal(got, []string{"GET", "\r\n"}) {
		t.Errorf("%q", got)
	}
}

func FuzzReadValue(f *testing.F) {
	f.Add([]byte("*2\r\n$1\r\na\r\n*1\r\n:1\r\n"))
	f.Add([]byte("|1\r\n+a\r\n+b\r\n+OK\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<10 {
			return
		}
		value, err := readValue(bufio.NewReader(bytes.NewReader(data)))
		if err == nil && !bytes.HasPrefix(data, value) {
			t.Fatalf("%q is not the beginning of %q", value, data)
		}
		words(value)
		if err == nil {
			isMessage(value)
		}
	})
}
