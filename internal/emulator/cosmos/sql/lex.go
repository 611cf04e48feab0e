package sql

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"warmpath/internal/emulator/cosmos/rawjson"
)

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenWord
	tokenParameter // text is the name with its @
	tokenText      // text is decoded
	tokenNumber
	tokenSymbol
)

type token struct {
	kind   tokenKind
	offset int
	text   string
	num    float64
}

func (t token) String() string {
	if t.kind == tokenEnd {
		return "the end"
	}
	return strconv.Quote(t.text)
}

// is tells whether the token is a keyword, in whatever case, or a symbol.
func (t token) is(word string) bool {
	return t.kind == tokenSymbol && t.text == word || t.kind == tokenWord && strings.EqualFold(t.text, word)
}

// symbols by length, so that the longest is taken.
var symbols = []string{"!=", "<>", "<=", ">=", "||", "??", "(", ")", "[", "]", "{", "}", ",", ".", ":", "*", "=", "<", ">", "+", "-", "/", "%", "?", "&", "|", "^", "~"}

// tokenize splits a query into tokens, the last of which is tokenEnd.
func tokenize(query string) ([]token, error) {
	var out []token
	for i := 0; ; {
		for i < len(query) && strings.IndexByte(" \t\r\n", query[i]) >= 0 {
			i++
		}
		t := token{offset: i}
		if i == len(query) {
			return append(out, t), nil
		}
		var n int
		var err error
		switch c := query[i]; {
		case strings.HasPrefix(query[i:], "--"):
			end := strings.IndexByte(query[i:], '\n')
			if end < 0 {
				end = len(query) - i
			}
			i += end
			continue
		case c == '"' || c == '\'':
			t.kind = tokenText
			t.text, n, err = lexText(query[i:])
		case c == '@':
			t.kind = tokenParameter
			n = 1 + wordLen(query[i+1:])
			t.text = query[i : i+n]
		case '0' <= c && c <= '9' || c == '.' && i+1 < len(query) && '0' <= query[i+1] && query[i+1] <= '9':
			t.kind = tokenNumber
			n = numberLen(query[i:])
			t.text = query[i : i+n]
			t.num, err = strconv.ParseFloat(t.text, 64)
		default:
			if n = wordLen(query[i:]); n > 0 {
				t.kind, t.text = tokenWord, query[i:i+n]
				break
			}
			t.kind = tokenSymbol
			for _, s := range symbols {
				if strings.HasPrefix(query[i:], s) {
					t.text, n = s, len(s)
					break
				}
			}
		}
		if err != nil {
			return nil, &Error{i, err.Error()}
		}
		if n == 0 {
			r, _ := utf8.DecodeRuneInString(query[i:])
			return nil, &Error{i, fmt.Sprintf("unexpected character %q", r)}
		}
		out = append(out, t)
		i += n
	}
}

// wordLen is the length of the identifier that s starts with.
func wordLen(s string) int {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return i
		}
	}
	return len(s)
}

func numberLen(s string) int {
	i := 0
	digits := func() {
		for i < len(s) && '0' <= s[i] && s[i] <= '9' {
			i++
		}
	}
	digits()
	if i < len(s) && s[i] == '.' {
		i++
		digits()
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		if j < len(s) && '0' <= s[j] && s[j] <= '9' {
			i = j
			digits()
		}
	}
	return i
}

var errText = errors.New("malformed string")

// lexText decodes a string literal, which may stand in single or double quotes
// and has JSON's escapes and \'.
func lexText(s string) (decoded string, n int, err error) {
	quote := s[0]
	raw := []byte{'"'}
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == quote:
			raw = append(raw, '"')
			r := rawjson.NewReader(raw)
			r.Value()
			if r.End() != nil {
				return "", 0, errText
			}
			return rawjson.Unquote(raw), i + 1, nil
		case c == '"':
			raw = append(raw, '\\', '"')
		case c == '\\' && i+1 < len(s):
			i++
			if s[i] != '\'' {
				raw = append(raw, '\\')
			}
			raw = append(raw, s[i])
		default:
			raw = append(raw, c)
		}
	}
	return "", 0, errText
}
