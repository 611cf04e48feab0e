// Package local is the world around the service on one machine: both emulators,
// a hub and a container in them, the settings that point a service there, and
// the proof that what the fleet sent is what the container holds.
//
// cmd/local runs it for people, the end-to-end tests for themselves. The
// service in the middle is the very same as in production.
package local
