// Package sqltask has the form in which SQL databases keep tasks: the keys and columns of a
// record, the news of its changes, and the operations that SQL functions leave in it. It
// makes no request: a store has the tables and the statements.
package sqltask
