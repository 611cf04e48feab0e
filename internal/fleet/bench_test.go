package fleet

import "testing"

// BenchmarkEvent is what the load generator itself costs, without the sending.
func BenchmarkEvent(b *testing.B) {
	for _, form := range formats() {
		b.Run(string(form), func(b *testing.B) {
			f := newFleet(b, func(c *Config) { c.Formats = []Format{form} })
			drones := make([]*Drone, f.Size())
			for i := range drones {
				drones[i] = f.Drone(i)
			}
			b.ReportAllocs()
			bytes := 0
			for i := range b.N {
				drone, n := f.schedule.at(i)
				e := drones[drone].Event(n)
				bytes += len(e.Body)
			}
			b.SetBytes(int64(bytes / b.N))
		})
	}
}

// BenchmarkRecord is what the census costs per position.
func BenchmarkRecord(b *testing.B) {
	events := newFleet(b, nil).Burst(b.N)
	c := NewCensus()
	b.ReportAllocs()
	b.ResetTimer()
	for i := range events {
		if err := c.Record(&events[i], sentOnce); err != nil {
			b.Fatal(err)
		}
	}
}
