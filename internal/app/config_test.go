package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
)

// Promise 9: a secret setting is printed by nothing that prints.
func TestSecretsAreNeverPrinted(t *testing.T) {
	c := Config{HubConnectionString: "sesame", CosmosConnectionString: "sesame", StorageConnectionString: "sesame"}
	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, nil)).Info("config", "hub", c.HubConnectionString, "all", c)
	slog.New(slog.NewTextHandler(&out, nil)).Info("config", "hub", c.HubConnectionString, "all", c)
	fmt.Fprintf(&out, "%v %+v %#v %s %q", c, c, c, c.HubConnectionString, c.HubConnectionString)
	if err := json.NewEncoder(&out).Encode(c); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "sesame") {
		t.Errorf("a secret was printed: %s", out.String())
	}
	if got, err := c.HubConnectionString.Read(); got != "sesame" || err != nil {
		t.Errorf("the secret is lost: %q, %v", got, err)
	}
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte("open\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Secret("file:" + path).Read(); got != "open" || err != nil {
		t.Errorf("a secret in a file: %q, %v", got, err)
	}
	if _, err := Secret("file:" + path + "x").Read(); err == nil {
		t.Error("a missing file is no error")
	}
}

// parse reads settings as the command line would.
func parse(t *testing.T, args ...string) (*Config, error) {
	t.Helper()
	var c Config
	parser, err := kong.New(&c, kong.DefaultEnvars(EnvironmentPrefix), kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	_, err = parser.Parse(args)
	return &c, err
}

// complete is the least that a service needs.
func complete(more ...string) []string {
	return append([]string{
		"--hub-connection-string=Endpoint=sb://h;SharedAccessKeyName=n;SharedAccessKey=k;EntityPath=e",
		"--cosmos-connection-string=AccountEndpoint=https://c;AccountKey=a2V5;",
		"--storage-connection-string=AccountName=a",
	}, more...)
}

func TestDefaultsAreTheRoomsOwn(t *testing.T) {
	c, err := parse(t, complete()...)
	if err != nil {
		t.Fatal(err)
	}
	if c.MaxAge != 5*time.Minute || c.ConsumerGroup != "warmpath" || c.Start != "earliest" || c.CheckpointInterval != 10*time.Second || c.OwnershipInterval != 2*time.Second {
		t.Errorf("unexpected defaults %+v", c)
	}
}

func TestABadSettingNamesItselfItsValueAndWhatIsAllowed(t *testing.T) {
	for want, args := range map[string][]string{
		"--hub-connection-string and --hub-namespace are both empty":                {},
		"--mode must be one of \"latest\",\"history\" but got \"newest\"":           complete("--mode=newest"),
		`--hub-namespace is "fleet", but --hub-connection-string is given as well`:  complete("--hub-namespace=fleet"),
		`--cosmos-endpoint is "https://x", but --cosmos-connection-string is given`: complete("--cosmos-endpoint=https://x"),
		"batch is 0, allowed are 1 to 5000":                                         complete("--batch=0"),
		"lanes is 5000, allowed are 1 to 4096":                                      complete("--lanes=5000"),
		"time to live is 1.5s, allowed are whole seconds":                           complete("--ttl=1500ms"),
		"--grace is 0s, allowed is more than 0":                                     complete("--grace=0s"),
		"expected duration but got \"soon\"":                                        complete("--max-age=soon"),
		"--consumer-group is empty, a name is needed":                               complete("--consumer-group="),
		"with --checkpoint-store=blob and --dead-letter-store=file one of them":     append(complete("--dead-letter-store=file")[:2], "--dead-letter-store=file"),
	} {
		if _, err := parse(t, args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v:\n got %v\nwant %s", args, err, want)
		}
	}
}

func TestTheEnvironmentSetsWhatFlagsDo(t *testing.T) {
	t.Setenv("WARMPATH_MAX_AGE", "90s")
	t.Setenv("WARMPATH_TTL", "24h")
	c, err := parse(t, complete()...)
	if err != nil || c.MaxAge != 90*time.Second || c.TTL != 24*time.Hour {
		t.Errorf("max age %v, ttl %v, %v", c.MaxAge, c.TTL, err)
	}
}

func TestUnknownVariablesAreReported(t *testing.T) {
	var c Config
	parser, err := kong.New(&c, kong.DefaultEnvars(EnvironmentPrefix))
	if err != nil {
		t.Fatal(err)
	}
	got := UnknownVariables(parser.Model, []string{"WARMPATH_MAXAGE=1m", "WARMPATH_MAX_AGE=1m", "WARMPATH_HUB_STRING=secret", "PATH=/bin", "WARMPATHS_X=1"})
	if want := []string{"WARMPATH_HUB_STRING", "WARMPATH_MAXAGE"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestLogsAreJSONUnlessSomebodyIsLooking(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	l := Logging{LogFormat: "auto", LogLevel: "warn"}.Logger(file)
	l.Info("not at this level")
	l.Warn("seen", "partition", "3")
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	var line map[string]any
	if err := json.Unmarshal(text, &line); err != nil || line["msg"] != "seen" || line["partition"] != "3" {
		t.Errorf("%q: %v", text, err)
	}
}
