package usage

import (
	"bytes"
	"errors"
)

// Text returns the content of a text file without the byte order mark that
// editors of Windows write. UTF-16, which older versions of PowerShell write, is
// an error.
func Text(content []byte) ([]byte, error) {
	start := content[:min(len(content), 2)]
	if bytes.Equal(start, []byte("\xff\xfe")) || bytes.Equal(start, []byte("\xfe\xff")) || bytes.IndexByte(start, 0) >= 0 {
		return nil, errors.New("it is UTF-16, not UTF-8: convert it with `iconv -f UTF-16 -t UTF-8`")
	}
	return bytes.TrimPrefix(content, []byte("\ufeff")), nil
}
