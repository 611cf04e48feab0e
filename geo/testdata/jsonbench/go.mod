// A module of its own, so that the candidates that were not chosen are no
// dependency of the product. See docs/adr/0002-json-library.md.
module warmpath/geo/testdata/jsonbench

go 1.26.0

require (
	github.com/go-json-experiment/json v1.27.2
	github.com/goccy/go-json v0.10.6
	github.com/tidwall/gjson v1.20.2
	github.com/valyala/fastjson v1.6.10
)

require (
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.3.0 // indirect
)
