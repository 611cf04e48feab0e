package bulk

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestParseAnswers(t *testing.T) {
	tests := []struct {
		name string
		text string
		want []answer
		err  error
	}{
		{"none", `[]`, nil, nil},
		{"written", `[{"statusCode":201,"requestCharge":5.71,"eTag":"\"00-1\""}]`,
			[]answer{{status: 201, charge: 5.71, etag: []byte(`"00-1"`)}}, nil},
		{"all members", ` [ { "statusCode" : 429 , "subStatusCode" : 3200, "requestCharge":0.38,
			"retryAfterMilliseconds":12.5, "eTag":null, "resourceBody":null, "message":"a \"quoted\" ] } text" } ] `,
			[]answer{{status: 429, subStatus: 3200, charge: 0.38, retryAfter: 12_500 * time.Microsecond}}, nil},
		{"numbers in strings", `[{"statusCode":"429","retryAfterMilliseconds":"7"}]`,
			[]answer{{status: 429, retryAfter: 7 * time.Millisecond}}, nil},
		{"charges of all shapes", `[{"statusCode":200,"requestCharge":6},{"statusCode":200,"requestCharge":1.05E1},{"statusCode":200,"requestCharge":null}]`,
			[]answer{{status: 200, charge: 6}, {status: 200, charge: 10.5}, {status: 200}}, nil},
		{"a document", `[{"statusCode":200,"resourceBody":{"id":"a]}\\","n":[1,{"x":"\""}]},"eTag":"\"1\""},{"statusCode":404}]`,
			[]answer{{status: 200, body: []byte(`{"id":"a]}\\","n":[1,{"x":"\""}]}`), etag: []byte(`"1"`)}, {status: 404}}, nil},
		{"unknown members", `[{"statusCode":200,"a":[1,[2,{"b":[]}]],"c":true,"d":-1.5e+3}]`,
			[]answer{{status: 200}}, nil},
		{"wait of a minute at most", `[{"statusCode":429,"retryAfterMilliseconds":1e12}]`,
			[]answer{{status: 429, retryAfter: time.Minute}}, nil},
		{"no wait is negative", `[{"statusCode":429,"retryAfterMilliseconds":-5}]`,
			[]answer{{status: 429}}, nil},

		{"empty", ``, nil, errAnswerShort},
		{"cut in the array", `[{"statusCode":200}`, nil, errAnswerShort},
		{"cut after a comma", `[{"statusCode":200},`, nil, errAnswerShort},
		{"cut in an element", `[{"statusCode":200,"req`, nil, errAnswerShort},
		{"cut in a document", `[{"statusCode":200,"resourceBody":{"a":[1,2`, nil, errAnswerShort},
		{"something after it", `[{"statusCode":200}]{`, nil, errAnswerSyntax},
		{"an error body", `{"code":"BadRequest","message":"no"}`, nil, errAnswerShape},
		{"not JSON", `<html>`, nil, errAnswerShape},
		{"no status", `[{}]`, nil, errAnswerShape},
		{"status is 0", `[{"requestCharge":1}]`, nil, errAnswerShape},
		{"status of a fraction", `[{"statusCode":200.5}]`, nil, errAnswerSyntax},
		{"status of words", `[{"statusCode":true}]`, nil, errAnswerSyntax},
		{"elements of another kind", `[200]`, nil, errAnswerSyntax},
		{"no comma", `[{"statusCode":200} {"statusCode":200}]`, nil, errAnswerSyntax},
		{"comma before the end", `[{"statusCode":200},]`, nil, errAnswerSyntax},
		{"no colon", `[{"statusCode" 200}]`, nil, errAnswerSyntax},
		{"no value", `[{"statusCode":}]`, nil, errAnswerSyntax},
		{"etag of another kind", `[{"statusCode":200,"eTag":5}]`, nil, errAnswerSyntax},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseAnswers(nil, []byte(tt.text))
			if !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if err == nil && !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

// Whatever the scan accepts means the same to the standard library.
func FuzzParseAnswers(f *testing.F) {
	for _, seed := range []string{
		`[]`, `[{"statusCode":201,"requestCharge":5.71,"eTag":"\"00-1\""}]`,
		`[{"statusCode":200,"resourceBody":{"id":"a]}\\","n":[1,{"x":"\""}]},"eTag":"\"1\""},{"statusCode":404}]`,
		`[{"statusCode":429,"subStatusCode":3200,"retryAfterMilliseconds":12.5,"message":"no"}]`,
		`[{"statusCode":200`, `{"code":"x"}`, `[{"statusCode":"1e2"}]`, `[{"eTag":"\\","statusCode":200}]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		valid := json.Valid(text)
		original := bytes.Clone(text)
		got, err := parseAnswers(nil, text)
		if err != nil || !valid {
			return // what is not JSON may be accepted inside of skipped values
		}
		var want []map[string]json.RawMessage
		if err := json.Unmarshal(original, &want); err != nil {
			t.Fatalf("accepted %q, which is not an array of objects: %v", original, err)
		}
		if len(got) != len(want) {
			t.Fatalf("%d answers, want %d", len(got), len(want))
		}
	})
}

func TestAppendOperation(t *testing.T) {
	document := []byte(`{"id":"a","deviceId":"a","n":1}`)
	tests := []struct {
		op   Operation
		want string
	}{
		{Operation{Kind: Upsert, Key: StringKey("drone-1"), ID: "a", Body: document},
			`{"operationType":"Upsert","partitionKey":"[\"drone-1\"]","resourceBody":` + string(document) + `}`},
		{Operation{Kind: Create, Key: NewKey(Number(1.5), Null(), Bool(true)), ID: "a", Body: document},
			`{"operationType":"Create","partitionKey":"[1.5,null,true]","resourceBody":` + string(document) + `}`},
		{Operation{Kind: Replace, Key: StringKey(`a"\é😀`), ID: "\"é\n", IfMatch: `"e-1"`, Body: document},
			`{"operationType":"Replace","partitionKey":"[\"a\\\"\\\\\\u00e9\\ud83d\\ude00\"]","id":"\"\u00e9\u000a","ifMatch":"\"e-1\"","resourceBody":` + string(document) + `}`},
		{Operation{Kind: Read, Key: NewKey(Undefined()), ID: "a"},
			`{"operationType":"Read","partitionKey":"[{}]","id":"a"}`},
		{Operation{Kind: Delete, Key: NewKey(Bool(false)), ID: "a", IfMatch: `"1"`},
			`{"operationType":"Delete","partitionKey":"[false]","id":"a","ifMatch":"\"1\""}`},
		{Operation{Kind: Patch, Key: StringKey(""), ID: "a", Body: []byte(`{"operations":[]}`)},
			`{"operationType":"Patch","partitionKey":"[\"\"]","id":"a","resourceBody":{"operations":[]}}`},
	}
	all := []byte{'['}
	for _, tt := range tests {
		t.Run(tt.op.Kind.String(), func(t *testing.T) {
			got := string(appendOperation([]byte{'['}, &tt.op)[1:])
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if len(got)+1 > encodedSize(&tt.op) {
				t.Errorf("takes %d bytes and a comma, size said at most %d", len(got), encodedSize(&tt.op))
			}
			all = appendOperation(all, &tt.op)
		})
	}
	if all = append(all, ']'); !json.Valid(all) {
		t.Errorf("the request is not JSON: %s", all)
	}
}

func TestOperationCheck(t *testing.T) {
	done := func(*Operation, Result) {}
	good := Operation{Key: StringKey("k"), ID: "i", Body: []byte("{}"), Done: done}
	tests := []struct {
		name   string
		change func(*Operation)
		want   string
	}{
		{"good", func(*Operation) {}, ""},
		{"kind", func(op *Operation) { op.Kind = kinds }, "kind is 6"},
		{"done", func(op *Operation) { op.Done = nil }, "done"},
		{"key", func(op *Operation) { op.Key = Key{} }, "missing"},
		{"no id", func(op *Operation) { op.ID = "" }, "0 bytes"},
		{"longest id", func(op *Operation) { op.ID = strings.Repeat("i", 1023) }, ""},
		{"long id", func(op *Operation) { op.ID = strings.Repeat("i", 1024) }, "1024 bytes"},
		{"id with a slash", func(op *Operation) { op.ID = "a/b" }, "contains one of"},
		{"no body", func(op *Operation) { op.Body = nil }, "body of 0 bytes"},
		{"body of an array", func(op *Operation) { op.Body = []byte("[]") }, "not a JSON object"},
		{"body too long", func(op *Operation) { op.Body = append([]byte("{"), make([]byte, maxBodyBytes)...) }, "allowed are up to"},
		{"read with a body", func(op *Operation) { op.Kind = Read }, "Read with a body"},
		{"read", func(op *Operation) { op.Kind, op.Body = Read, nil }, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			op := good
			tt.change(&op)
			err := op.check(1)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("check = %v, want %q", err, tt.want)
			}
		})
	}
}
