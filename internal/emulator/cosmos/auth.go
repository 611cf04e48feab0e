package cosmos

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// maxSkew is how far the date of a signature may be from the server's.
const maxSkew = 15 * time.Minute

// authenticate checks a request's token against what it addresses. A nil reply
// means that it may pass.
//
// The header is URL-encoded: type={master|aad}&ver=1.0&sig={signature}. A
// master signature is HMAC-SHA256 with the account key over the lower-case
// verb, the resource type, the resource link and the lower-case date, each
// followed by a newline, and one newline more
// (learn.microsoft.com/rest/api/cosmos-db/access-control-on-cosmosdb-resources).
func (s *Server) authenticate(r *http.Request, t *target) *reply {
	header := r.Header.Get(headerAuthorization)
	if header == "" {
		return failure(http.StatusUnauthorized, 0, "Required Header authorization is missing. Ensure a valid Authorization token is passed.")
	}
	token, err := url.QueryUnescape(header)
	if err != nil {
		return malformedToken()
	}
	kind, rest, ok1 := strings.Cut(token, "&ver=1.0&sig=")
	if !ok1 {
		return malformedToken()
	}
	switch kind {
	case "type=aad":
		if s.checkToken == nil || !s.checkToken(rest) {
			return failure(http.StatusUnauthorized, 0, "The Microsoft Entra token is not valid for this account.")
		}
		return nil
	case "type=master":
	default:
		return malformedToken()
	}

	date := r.Header.Get(headerDate)
	signed, err := http.ParseTime(date)
	if err != nil {
		return failure(http.StatusUnauthorized, 0, "The x-ms-date header is missing or malformed.")
	}
	if skew := time.Since(signed); skew > maxSkew || skew < -maxSkew {
		return failure(http.StatusForbidden, 0, "The authorization token is not valid at the current time. Please create another token and retry (token time: "+date+").")
	}
	mac := hmac.New(sha256.New, s.secret)
	text := make([]byte, 0, 192)
	text = append(text, strings.ToLower(r.Method)...)
	text = append(text, '\n')
	text = append(text, t.resourceType...)
	text = append(text, '\n')
	text = append(text, t.resourceLink...)
	text = append(text, '\n')
	text = append(text, strings.ToLower(date)...)
	text = append(text, '\n', '\n')
	mac.Write(text)
	var sum [sha256.Size]byte
	var want [44]byte
	base64.StdEncoding.Encode(want[:], mac.Sum(sum[:0]))
	if subtle.ConstantTimeCompare(want[:], []byte(rest)) != 1 {
		return failure(http.StatusUnauthorized, 0, "The input authorization token can't serve the request. The wrong key is being used or the expected payload is not built as per the protocol. Server used the following payload to sign: '"+
			strings.ReplaceAll(string(text), "\n", `\n`)+"'")
	}
	return nil
}

func malformedToken() *reply {
	return failure(http.StatusUnauthorized, 0, "Authorization header doesn't confirm to the required format. Please verify and try again.")
}
