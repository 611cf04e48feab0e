package app

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// EnvironmentPrefix begins the name of every environment variable of ours.
const EnvironmentPrefix = "WARMPATH"

// UnknownVariables lists the variables of the environment that begin like ours
// but set nothing: a typing error there would otherwise go unnoticed.
// environment is as from os.Environ.
func UnknownVariables(model *kong.Application, environment []string) []string {
	known := map[string]bool{}
	_ = kong.Visit(model, func(node kong.Visitable, next kong.Next) error {
		if flag, ok := node.(*kong.Flag); ok {
			for _, name := range flag.Envs {
				known[name] = true
			}
		}
		return next(nil)
	})
	var unknown []string
	for _, entry := range environment {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, EnvironmentPrefix+"_") && !known[name] {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}
