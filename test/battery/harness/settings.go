package harness

import (
	"context"
	"net/http"

	"github.com/foliot/foliot/internal/wire"
)

// PutQueue replaces all settings of a queue.
func (c *Client) PutQueue(ctx context.Context, queue string, in wire.QueueInput) error {
	return c.Do(ctx, http.MethodPut, "/queues/"+queue, in, nil)
}

// GetQueue returns a queue.
func (c *Client) GetQueue(ctx context.Context, queue string) (q wire.Queue, err error) {
	err = c.Do(ctx, http.MethodGet, "/queues/"+queue, nil, &q)
	return q, err
}

// PauseQueue pauses a queue for the duration d. If d is "", the pause lasts
// until the queue is resumed.
func (c *Client) PauseQueue(ctx context.Context, queue, d string) error {
	return c.Do(ctx, http.MethodPost, "/queues/"+queue+"/pause", wire.PauseInput{For: d}, nil)
}

// ResumeQueue resumes a paused queue.
func (c *Client) ResumeQueue(ctx context.Context, queue string) error {
	return c.Do(ctx, http.MethodPost, "/queues/"+queue+"/resume", nil, nil)
}

// PurgeQueue cancels all tasks of a queue.
func (c *Client) PurgeQueue(ctx context.Context, queue string) error {
	return c.Do(ctx, http.MethodPost, "/queues/"+queue+"/purge", nil, nil)
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

// DropSecret deletes a signing secret.
func (c *Client) DropSecret(ctx context.Context, id string) error {
	return c.Do(ctx, http.MethodDelete, "/secrets/"+id, nil, nil)
}

// PutSchedule makes a schedule.
func (c *Client) PutSchedule(ctx context.Context, name string, in wire.ScheduleInput) error {
	return c.Do(ctx, http.MethodPut, "/schedules/"+name, in, nil)
}
