package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/foliot/foliot/client/internal/conn"
)

// Backup writes a backup of all data at one moment to w, as a tar archive for
// `foliot restore`. It needs an operator's token of scope admin, and only the
// context bounds its time. The client does not repeat it, so discard the bytes
// of a backup that returned an error.
func (a *Client) Backup(ctx context.Context, w io.Writer) (n int64, err error) {
	const op = "take a backup"
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := a.conn.Open(ctx, &conn.Call{Op: op, Method: http.MethodGet, Path: "/backup"})
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	into := &errorWriter{w: w}
	n, err = io.Copy(into, resp.Body)
	switch {
	case into.err != nil:
		return n, fmt.Errorf("%s: %w", op, into.err)
	case err != nil:
		return n, a.conn.NoReply(&conn.Call{Op: op}, fmt.Errorf("the backup ended after %d bytes: %w", n, errors.Join(err, ctx.Err())))
	}
	return n, nil
}

// errorWriter keeps the error of its writer, to distinguish it from one of the
// reader.
type errorWriter struct {
	w   io.Writer
	err error
}

func (w *errorWriter) Write(p []byte) (n int, err error) {
	n, err = w.w.Write(p)
	w.err = err
	return n, err
}
