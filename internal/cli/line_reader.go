package cli

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxLine bounds one line of an import: the largest body, and room for the
// rest, with every byte escaped as \u0000.
const maxLine = 6 * (1<<20 + 64<<10)

// errLongLine is the error of a line that no task needs.
var errLongLine = errors.New("the line is longer than any task")

// line is one line of a file.
type line struct {
	number int // from 1
	text   []byte
	size   int64 // as it stands in the file, with its end
	err    error // errLongLine: text is empty
}

// lineReader reads lines of any length and keeps only those that may be tasks.
type lineReader struct {
	r      *bufio.Reader
	number int
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 256<<10)}
}

// next returns the next line that is not blank. Errors: io.EOF, and the reader's.
func (l *lineReader) next() (line, error) {
	var skipped int64
	for {
		got, err := l.read()
		got.size += skipped
		if len(got.text) > 0 || got.err != nil {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		skipped = got.size
	}
}

// read returns the next line, blank or not; err is set when it is the last.
func (l *lineReader) read() (line, error) {
	l.number++
	got := line{number: l.number}
	for {
		part, err := l.r.ReadSlice('\n')
		got.size += int64(len(part))
		if got.err == nil {
			got.text = append(got.text, part...)
		}
		if len(got.text) > maxLine {
			got.text, got.err = nil, errLongLine
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		got.text = bytes.TrimSpace(got.text)
		return got, err
	}
}
