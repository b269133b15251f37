package api

import "github.com/foliot/foliot/internal/api/decode"

// reader reads the values of the domain from JSON.
type reader struct{ *decode.Reader }

// document reads data as one value with read, which no data may follow.
func document(data []byte, read func(*reader) error) error {
	return decode.Document(data, func(r *decode.Reader) error { return read(&reader{r}) })
}
