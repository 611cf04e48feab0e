package cosmos

import (
	"log/slog"
	"time"
)

// wellKnownKey is the account key that Microsoft documents for its own
// emulator. It protects nothing, and tools know it.
const wellKnownKey = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="

type config struct {
	address    string
	key        string
	ranges     int
	ruPerRange float64
	charges    ChargeModel
	window     Window
	noise      float64
	seed       uint64
	latency    time.Duration
	now        func() time.Time
	log        *slog.Logger
	journal    bool
	checkToken func(token string) bool
}

func defaultConfig() config {
	return config{
		address: "127.0.0.1:0",
		key:     wellKnownKey,
		ranges:  1,
		charges: DefaultCharges(),
		now:     time.Now,
		log:     slog.New(slog.DiscardHandler),
		journal: true,
	}
}

// Option changes how a server is started.
type Option func(*config)

// WithAddress sets the TCP address to listen on, by default 127.0.0.1:0.
func WithAddress(address string) Option { return func(c *config) { c.address = address } }

// WithKey sets the account key, in base64. The default is the well-known key of
// Microsoft's emulator.
func WithKey(key string) Option { return func(c *config) { c.key = key } }

// WithTokenCheck admits requests with a Microsoft Entra token when check says
// so. Without it every token is refused.
func WithTokenCheck(check func(token string) bool) Option {
	return func(c *config) { c.checkToken = check }
}

// WithRanges sets how many physical ranges a new container starts with, by
// default 1. The ranges divide the key space evenly.
func WithRanges(n int) Option { return func(c *config) { c.ranges = n } }

// WithRUPerRange limits every physical range to n request units a second. Zero,
// the default, means no limit.
func WithRUPerRange(n float64) Option { return func(c *config) { c.ruPerRange = n } }

// WithCharges sets what operations cost, by default [DefaultCharges].
func WithCharges(m ChargeModel) Option { return func(c *config) { c.charges = m } }

// WithWindow sets how the limit of a range is measured, by default
// [FixedSecond].
func WithWindow(w Window) Option { return func(c *config) { c.window = w } }

// WithChargeNoise makes charges vary evenly at random by up to the given share
// (0.3 is plus or minus 30 %), the same way for the same seed and order of
// operations.
func WithChargeNoise(share float64, seed uint64) Option {
	return func(c *config) { c.noise, c.seed = share, seed }
}

// WithLatency makes every request take at least d, half before it takes effect
// and half after.
func WithLatency(d time.Duration) Option { return func(c *config) { c.latency = d } }

// WithClock sets the clock that etags, timestamps, times to live and the limit
// of request units follow. The age of a client's signature is measured by the
// machine's clock, as clients sign with it.
func WithClock(now func() time.Time) Option { return func(c *config) { c.now = now } }

// WithLogger sets where the server logs, by default nowhere. Bodies and keys
// are never logged.
func WithLogger(log *slog.Logger) Option { return func(c *config) { c.log = log } }

// WithoutJournal keeps no journal, for measurements in which its memory would
// matter.
func WithoutJournal() Option { return func(c *config) { c.journal = false } }
