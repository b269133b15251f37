package client

// Admin is for operators: it shows and changes the server itself, not its tasks. Most of its methods need an operator's token.
type Admin struct{ conn *conn }
