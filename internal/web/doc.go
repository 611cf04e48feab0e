// Package web serves what the outside may see of a running service: its
// health, its readiness and its metrics.
package web
