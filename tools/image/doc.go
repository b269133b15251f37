// Command image builds the container image of Foliot without Docker and without
// a base image: a static binary, the certificates of public authorities, a user
// and a data directory. Two builds of one commit are equal in each byte.
package main
