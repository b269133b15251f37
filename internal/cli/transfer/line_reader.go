package transfer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/foliot/foliot/internal/usage"
)

// maxLine is the longest line of an import: the largest body and 64 KiB for the
// other fields, with every byte escaped as \u0000.
const maxLine = 6 * (1<<20 + 64<<10)

// errLongLine is the error for a line that is longer than any task.
var errLongLine = fmt.Errorf("the line is longer than %d bytes, the longest that a task can need", maxLine)

// line is one line of a file.
type line struct {
	number int // from 1
	text   []byte
	size   int64 // in the file, with the line end
	err    error // errLongLine: text is empty
}

// lineReader reads lines. It drops the text of lines longer than maxLine.
type lineReader struct {
	r      *bufio.Reader
	number int
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 256<<10)}
}

// next returns the next line that is not blank. It returns io.EOF at the end,
// and any error of the reader.
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

// read returns the next line, which may be blank. It also returns an error if
// this line is the last.
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
		if text, err := usage.Text(got.text); err == nil && l.number == 1 { // formProblem names UTF-16
			got.text = text
		}
		got.text = bytes.TrimSpace(got.text)
		return got, err
	}
}
