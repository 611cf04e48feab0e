package conformance

func cosmosChecks() []check { return nil }
