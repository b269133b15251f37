package client

// Admin shows and changes the server itself: live data, the audit log, nodes,
// shards, the egress policy and backups. Most methods need an operator's token.
type Admin struct{ conn *conn }
