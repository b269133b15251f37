package main

import (
	"context"
	"net/http"

	"github.com/foliot/foliot/internal/wire"
)

// putQueue decides everything of a queue.
func (c *client) putQueue(ctx context.Context, queue string, in wire.QueueInput) error {
	return c.do(ctx, http.MethodPut, "/queues/"+queue, in, nil)
}

func (c *client) getQueue(ctx context.Context, queue string) (q wire.Queue, err error) {
	err = c.do(ctx, http.MethodGet, "/queues/"+queue, nil, &q)
	return q, err
}

// pauseQueue pauses a queue, for a while or, with "", until it is resumed.
func (c *client) pauseQueue(ctx context.Context, queue, d string) error {
	return c.do(ctx, http.MethodPost, "/queues/"+queue+"/pause", wire.PauseInput{For: d}, nil)
}

func (c *client) resumeQueue(ctx context.Context, queue string) error {
	return c.do(ctx, http.MethodPost, "/queues/"+queue+"/resume", nil, nil)
}

func (c *client) purgeQueue(ctx context.Context, queue string) error {
	return c.do(ctx, http.MethodPost, "/queues/"+queue+"/purge", nil, nil)
}

func (c *client) makeToken(ctx context.Context, in wire.TokenInput) (t wire.Token, err error) {
	err = c.do(ctx, http.MethodPost, "/tokens", in, &t)
	return t, err
}

func (c *client) revokeToken(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, "/tokens/"+id, nil, nil)
}

func (c *client) makeSecret(ctx context.Context, in wire.SecretInput) (s wire.Secret, err error) {
	err = c.do(ctx, http.MethodPost, "/secrets", in, &s)
	return s, err
}

func (c *client) dropSecret(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, "/secrets/"+id, nil, nil)
}
