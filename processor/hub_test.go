package processor

import (
	"strings"
	"testing"
)

// The development flag sends the key in clear: it must not slip into
// production, and no error may repeat the key (promise 9).
func TestDevelopmentEmulatorOnlyNearby(t *testing.T) {
	for host, allowed := range map[string]bool{
		"localhost": true, "127.0.0.1": true, "127.0.0.1:5672": true, "[::1]:5672": true, "10.1.2.3": true, "192.168.0.9:5672": true, "eventhubs-emulator": true,
		"fleet.servicebus.windows.net": false, "8.8.8.8": false, "example.com:5672": false,
	} {
		err := checkConnectionString("Endpoint=sb://" + host + ";SharedAccessKeyName=k;SharedAccessKey=sesame;UseDevelopmentEmulator=true")
		if (err == nil) != allowed {
			t.Errorf("%s: allowed %v, got %v", host, allowed, err)
		}
		if err != nil && strings.Contains(err.Error(), "sesame") {
			t.Errorf("the error repeats the key: %v", err)
		}
	}
	if err := checkConnectionString("Endpoint=sb://fleet.servicebus.windows.net;SharedAccessKeyName=k;SharedAccessKey=sesame"); err != nil {
		t.Errorf("a production connection string is refused: %v", err)
	}
	err := checkConnectionString("SharedAccessKey=sesame")
	if err == nil || strings.Contains(err.Error(), "sesame") {
		t.Errorf("a broken connection string: %v", err)
	}
}
