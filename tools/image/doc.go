// Command image builds the container image of Foliot without Docker and without
// a base image: a static binary, the certificates of public authorities, a user
// and a data directory. Two builds of one commit are equal in each byte.
//
// It links the library of ko, and is not ko: ko adds a binary to a base image of
// a registry, so it cannot make the data directory with its owner, and its
// configuration has no health check.
package main
