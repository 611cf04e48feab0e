package cases

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// Report runs cases and writes each that fails to out, with what was wanted, what
// was got and where they differ, and last how many passed and failed. It returns
// the number of those that failed.
func Report(out io.Writer, cases []Case, base Rules, received time.Time) (failed int) {
	for i := range cases {
		c := &cases[i]
		got, err := c.Run(base, received)
		ran := err == nil
		if ran {
			err = c.Expect.Check(got)
		}
		if err == nil {
			continue
		}
		failed++
		fmt.Fprintf(out, "FAIL  %s\n", c)
		fmt.Fprintf(out, "      wanted  %s\n", &c.Expect)
		if ran {
			fmt.Fprintf(out, "      got     %s\n", &got)
		}
		fmt.Fprintf(out, "      %s\n", strings.ReplaceAll(err.Error(), "\n", "\n      "))
	}
	fmt.Fprintf(out, "%d passed, %d failed\n", len(cases)-failed, failed)
	return failed
}

// String is the outcome as a case would name it.
func (o *Outcome) String() string {
	text, err := json.Marshal(o)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
