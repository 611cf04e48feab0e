package cosmos

import (
	"fmt"
	"net/http"
)

// Advertise makes the account name other endpoints as those that take writes, as
// after a failover; without arguments it names itself again. The endpoints are
// URLs, such as another server's [Server.Endpoint].
func (s *Server) Advertise(endpoints ...string) { s.advertised.Store(&endpoints) }

// location is a region of the account.
type location struct {
	Name     string `json:"name"`
	Endpoint string `json:"databaseAccountEndpoint"`
}

// locations are where the account can be reached: what was advertised, or else
// the address that the client itself used, which is the one address known to
// work.
func (s *Server) locations(r *http.Request) []location {
	endpoints := []string{s.Endpoint()}
	if set := s.advertised.Load(); set != nil && len(*set) > 0 {
		endpoints = *set
	} else if r.Host != "" {
		endpoints[0] = "http://" + r.Host + "/"
	}
	var out []location
	for i, e := range endpoints {
		out = append(out, location{fmt.Sprintf("Local %d", i+1), e})
	}
	return out
}

// serveAccount serves /, from which clients learn where to send the rest.
func (s *Server) serveAccount(r *http.Request) *reply {
	if r.Method != http.MethodGet {
		return unsupported(r)
	}
	here := s.locations(r)
	return metadata(http.StatusOK, map[string]any{
		"_self":                        "",
		"id":                           "local",
		"_rid":                         "local.documents.azure.com",
		"media":                        "//media/",
		"addresses":                    "//addresses/",
		"_dbs":                         "//dbs/",
		"writableLocations":            here,
		"readableLocations":            here,
		"enableMultipleWriteLocations": false,
		"userReplicationPolicy":        map[string]any{"asyncReplication": false, "minReplicaSetSize": 1, "maxReplicasetSize": 4},
		"userConsistencyPolicy":        map[string]any{"defaultConsistencyLevel": "Session"},
		"systemReplicationPolicy":      map[string]any{"minReplicaSetSize": 1, "maxReplicasetSize": 4},
		"readPolicy":                   map[string]any{"primaryReadCoefficient": 1, "secondaryReadCoefficient": 1},
		"queryEngineConfiguration":     `{"maxSqlQueryInputLength":262144,"maxJoinsPerSqlQuery":0,"enableSpatialIndexing":true}`,
	}, "")
}
