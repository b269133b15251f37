package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Backup writes a backup of all there is, as it is at one moment, for `foliot restore`: a tar archive. It takes an operator's token of scope admin.
// The context alone bounds it. It is not repeated by itself: what w got of one that broke off is no backup.
func (a Admin) Backup(ctx context.Context, w io.Writer) (n int64, err error) {
	const op = "take a backup"
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := a.conn.send(ctx, &call{op: op, method: http.MethodGet, path: "/backup"})
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	into := &remembering{w: w}
	n, err = io.Copy(into, resp.Body)
	switch {
	case into.err != nil:
		return n, fmt.Errorf("%s: %w", op, into.err)
	case err != nil:
		return n, a.conn.noReply(&call{op: op}, fmt.Errorf("it broke off after %d bytes: %w", n, errors.Join(err, ctx.Err())))
	}
	return n, nil
}

// remembering tells a writer's error from a reader's.
type remembering struct {
	w   io.Writer
	err error
}

func (r *remembering) Write(p []byte) (n int, err error) {
	n, err = r.w.Write(p)
	r.err = err
	return n, err
}
