package harness

import (
	"context"
	"net/http"

	"github.com/foliot/foliot/internal/wire"
)

// GetQueue returns a queue.
func (c *Client) GetQueue(ctx context.Context, queue string) (q wire.Queue, err error) {
	err = c.Do(ctx, http.MethodGet, "/queues/"+queue, nil, &q)
	return q, err
}

// MakeToken creates a token.
func (c *Client) MakeToken(ctx context.Context, in wire.TokenInput) (t wire.Token, err error) {
	err = c.Do(ctx, http.MethodPost, "/tokens", in, &t)
	return t, err
}

// MakeSecret creates a signing secret.
func (c *Client) MakeSecret(ctx context.Context, in wire.SecretInput) (s wire.Secret, err error) {
	err = c.Do(ctx, http.MethodPost, "/secrets", in, &s)
	return s, err
}

// PutSchedule makes a schedule.
func (c *Client) PutSchedule(ctx context.Context, name string, in wire.ScheduleInput) error {
	return c.Do(ctx, http.MethodPut, "/schedules/"+name, in, nil)
}
