// Package activity remembers the recent attempts of this server: some of the
// last ones, and figures for each ten seconds of the last hour. They are in
// memory only, so a restart clears them.
//
// Memory and the cost of an attempt are bounded. If more attempts end in a
// second than a Recorder keeps, it counts the others.
package activity
