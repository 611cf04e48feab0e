package app

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// errStorageString says what is expected and repeats nothing: the string holds
// the key.
var errStorageString = errors.New("cannot be used, expected DefaultEndpointsProtocol=https;AccountName=NAME;AccountKey=KEY;EndpointSuffix=core.windows.net")

// keyedContainer makes a client with an account key that is read again when the
// service refuses it.
func keyedContainer(secret Secret, name string) (*container.Client, error) {
	text, err := secret.Read()
	if err != nil {
		return nil, err
	}
	account, err := parseStorageString(text)
	if err != nil {
		return nil, err
	}
	credential, err := blob.NewSharedKeyCredential(account.name, account.key)
	if err != nil {
		return nil, errStorageString
	}
	address, err := url.JoinPath(account.endpoint, name)
	if err != nil {
		return nil, errStorageString
	}
	return container.NewClientWithSharedKeyCredential(address, credential, &container.ClientOptions{
		ClientOptions: azcore.ClientOptions{PerCallPolicies: []policy.Policy{&rekey{secret: secret, credential: credential, text: text}}},
	})
}

// storageAccount is what a storage connection string says.
type storageAccount struct{ name, key, endpoint string }

// parseStorageString reads the members of a storage connection string
// (learn.microsoft.com/azure/storage/common/storage-configure-connection-string).
func parseStorageString(text string) (storageAccount, error) {
	members := map[string]string{"DefaultEndpointsProtocol": "https", "EndpointSuffix": "core.windows.net"}
	for part := range strings.SplitSeq(text, ";") {
		if name, value, ok := strings.Cut(strings.TrimSpace(part), "="); ok {
			members[name] = value
		}
	}
	a := storageAccount{members["AccountName"], members["AccountKey"], members["BlobEndpoint"]}
	if a.name == "" || a.key == "" {
		return a, errStorageString
	}
	if a.endpoint == "" {
		a.endpoint = members["DefaultEndpointsProtocol"] + "://" + a.name + ".blob." + members["EndpointSuffix"]
	}
	return a, nil
}

// rekey is a pipeline policy: when the service refuses the key, it reads the
// secret again, and if that has changed, tries the call once more.
type rekey struct {
	secret     Secret
	credential *blob.SharedKeyCredential

	mu   sync.Mutex // covers text
	text string     // of the connection string in use
}

// Do implements [policy.Policy].
func (r *rekey) Do(req *policy.Request) (*http.Response, error) {
	response, err := req.Next()
	if err != nil || response.StatusCode != http.StatusForbidden || !r.renew() {
		return response, err
	}
	if err := req.RewindBody(); err != nil {
		return response, nil
	}
	_ = response.Body.Close()
	return req.Next()
}

// renew tells whether there was another key to use.
func (r *rekey) renew() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	text, err := r.secret.Read()
	if err != nil || text == r.text {
		return false
	}
	account, err := parseStorageString(text)
	if err != nil || r.credential.SetAccountKey(account.key) != nil {
		return false
	}
	r.text = text
	return true
}
