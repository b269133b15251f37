// Package activity remembers the recent attempts of this server: some of the
// last ones, and figures for each ten seconds of the last hour. They are in
// memory only, so a restart clears them.
//
// Memory and the cost of an attempt are bounded, because a Recorder only counts
// the attempts of a second beyond those that it keeps.
package activity
