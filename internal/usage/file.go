package usage

import (
	"io"
	"os"
)

// Open opens the file that an argument names, or returns stdin for "-". A size of
// -1 is unknown.
func Open(file string, stdin io.Reader) (in io.ReadCloser, size int64, err error) {
	if file == "-" {
		return io.NopCloser(stdin), -1, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, 0, AboutFile(file, err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		err = AboutFile(file, err)
	case info.IsDir():
		err = Errorf("", "%s is a directory", file)
	case !info.Mode().IsRegular():
		return f, -1, nil
	default:
		return f, info.Size(), nil
	}
	_ = f.Close() // return the first error
	return nil, 0, err
}

// ReadFile returns the content of the file that an argument names, or that of
// stdin for "-". If the file is longer than most bytes, remedy ends the error.
func ReadFile(file string, stdin io.Reader, most int64, remedy string) ([]byte, error) {
	in, _, err := Open(file, stdin)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, most+1))
	switch {
	case err != nil:
		return nil, AboutFile(file, err)
	case int64(len(data)) > most:
		return nil, Errorf(FileName(file), "the file is longer than %d bytes%s", most, remedy)
	}
	return data, nil
}
