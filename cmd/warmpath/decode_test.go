package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write puts text into a file of the test and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDecodeCommand(t *testing.T) {
	body := write(t, "body.json", `[{"sn":"a","lat":470000000,"lon":-1220000000},{"sn":"b","lat":1}]`)
	good := `{"group":"fleet","name":"good","event":{"body":"{\"deviceId\":\"d\",\"lat\":1,\"lon\":2}"},"expect":{"written":[{"id":"d","coordinates":[2,1]}]}}` + "\n"
	bad := `{"group":"fleet","name":"bad","event":{"body":"{}"},"expect":{"written":[{"id":"d"}]}}` + "\n"
	for _, test := range []struct {
		name           string
		environment    []string
		args           []string
		code           int
		stdout, stderr string
	}{
		{"a file", []string{"WARMPATH_MAP_DEVICE_ID=/sn", "WARMPATH_COORDINATE_UNIT=1e-7"}, []string{"decode", body}, 0,
			`{"id":"a","deviceId":"a","type":"Feature","geometry":{"type":"Point","coordinates":[-122,47]},`, ""},
		{"its reasons", []string{"WARMPATH_MAP_DEVICE_ID=/sn"}, []string{"decode", "--coordinate-unit=1e-7", body}, 0,
			`{"index":1,"fate":"dead-lettered","reason":"malformed","deviceId":"b",`, ""},
		{"cases that pass", nil, []string{"decode", "--cases", write(t, "good.jsonl", good+"\n"+good)}, 0, "2 passed, 0 failed\n", ""},
		{"a case that fails", nil, []string{"decode", "--cases", write(t, "bad.jsonl", good+bad)}, 1,
			"FAIL  fleet/bad\n      wanted  {\"written\":[{\"id\":\"d\"}]}\n      got     {\"deadLettered\":{\"missing_id\":1}}\n", "not every case has passed"},
		{"no cases", nil, []string{"decode", "--cases", write(t, "none.jsonl", "{")}, 1, "", "line 1"},
		{"no file", nil, []string{"decode", filepath.Join(t.TempDir(), "none")}, 1, "", "no such file"},
		{"nothing to do", nil, []string{"decode"}, 2, "", "neither a file nor --cases is given"},
		{"too much to do", nil, []string{"decode", "--cases=a", "b"}, 2, "", `--cases is "a", but the file "b" is given as well`},
		{"a bad setting", nil, []string{"decode", "--map-latitude=lat", body}, 2, "", `--map-latitude is "lat", allowed is a JSON Pointer`},
	} {
		t.Run(test.name, func(t *testing.T) {
			stdout, stderr, code := command(t, test.environment, test.args...)
			if code != test.code || !strings.Contains(stdout, test.stdout) || !strings.Contains(stderr, test.stderr) {
				t.Errorf("exit %d, want %d\nstdout: %s\nstderr: %s\nwant %q and %q", code, test.code, stdout, stderr, test.stdout, test.stderr)
			}
		})
	}
}

// The payloads that fleets are known to send pass through the command itself.
func TestDecodeCommandPassesTheKnownPayloads(t *testing.T) {
	stdout, stderr, code := command(t, nil, "decode", "--cases", filepath.Join("..", "..", "geo", "testdata", "payloads.jsonl"))
	if code != 0 || stdout != "89 passed, 0 failed\n" || stderr != "" {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
}
