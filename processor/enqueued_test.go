package processor

import (
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
)

func TestWhichEnqueuedTimeCounts(t *testing.T) {
	received := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	broker, device, last := received.Add(-time.Second), received.Add(-time.Minute), received.Add(-time.Hour)
	for _, test := range []struct {
		name       string
		annotation any
		broker     *time.Time
		last       time.Time
		want       time.Time
		clamped    bool
	}{
		{"IoT Hub's own survives routing", device, &broker, last, device, false},
		{"without it the broker's", nil, &broker, last, broker, false},
		{"a text is no time", "2026-11-30", &broker, last, broker, false},
		{"the zero time is no time", time.Time{}, &broker, last, broker, false},
		{"neither: the partition's last", nil, nil, last, last, false},
		{"neither and nothing before: receive time", nil, nil, time.Time{}, received, false},
		{"ahead by a minute is believed", received.Add(time.Minute), nil, last, received.Add(time.Minute), false},
		{"further ahead is clamped", received.Add(time.Minute + time.Millisecond), &broker, last, received, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := &azeventhubs.ReceivedEventData{EnqueuedTime: test.broker}
			if test.annotation != nil {
				e.SystemProperties = map[string]any{"iothub-enqueuedtime": test.annotation}
			}
			got, clamped := enqueuedTime(e, test.last, received)
			if !got.Equal(test.want) || clamped != test.clamped {
				t.Errorf("got %v (clamped %v), want %v (clamped %v)", got, clamped, test.want, test.clamped)
			}
		})
	}
}
