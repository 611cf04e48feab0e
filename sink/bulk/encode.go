package bulk

// A bulk request is a POST of a JSON array of operations to the container's
// documents. It is not in the public REST reference; this is the form that the
// official JavaScript SDK sends (github.com/Azure/azure-sdk-for-js, sdk/cosmosdb/
// cosmos, ClientContext.bulk) and that the service's developers describe in
// issue 7479 there.

// operationOverhead is an upper bound of the bytes of an encoded operation
// apart from key, id, etag and body.
const operationOverhead = len(`,{"operationType":"Replace","partitionKey":,"id":"","ifMatch":"","resourceBody":}`)

// encodedSize is an upper bound of the bytes that appendOperation adds.
func encodedSize(op *Operation) int {
	return operationOverhead + op.Key.size() + 6*len(op.ID) + 6*len(op.IfMatch) + len(op.Body)
}

// appendOperation appends one operation to a request that begins with '['.
func appendOperation(dst []byte, op *Operation) []byte {
	if dst[len(dst)-1] != '[' {
		dst = append(dst, ',')
	}
	dst = append(dst, `{"operationType":"`...)
	dst = append(dst, op.Kind.String()...)
	dst = append(dst, `","partitionKey":`...)
	dst = op.Key.appendQuotedJSON(dst)
	if op.Kind.namesDocument() {
		dst = append(dst, `,"id":"`...)
		dst = appendEscaped(dst, op.ID)
		dst = append(dst, '"')
	}
	if op.IfMatch != "" {
		dst = append(dst, `,"ifMatch":"`...)
		dst = appendEscaped(dst, op.IfMatch)
		dst = append(dst, '"')
	}
	if op.Kind.hasBody() {
		dst = append(dst, `,"resourceBody":`...)
		dst = append(dst, op.Body...)
	}
	return append(dst, '}')
}
