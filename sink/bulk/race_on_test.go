//go:build race

package bulk_test

// raceEnabled makes the largest tests smaller: the race detector costs ten
// times their time.
const raceEnabled = true
