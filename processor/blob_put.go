package processor

import (
	"bytes"
	"context"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
)

// putMetadata writes an empty blob's metadata if it is still the version that etag
// names, or creates it if etag is empty and there is none. It returns the new
// version and when the store says that it was written.
func putMetadata(ctx context.Context, client *blockblob.Client, metadata map[string]*string, etag azcore.ETag) (azcore.ETag, time.Time, error) {
	if etag == "" {
		none := azcore.ETagAny
		created, err := client.Upload(ctx, streaming.NopCloser(bytes.NewReader(nil)), &blockblob.UploadOptions{
			Metadata:         metadata,
			AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: &none}},
		})
		if err != nil {
			return "", time.Time{}, err
		}
		return *created.ETag, *created.LastModified, nil
	}
	changed, err := client.SetMetadata(ctx, metadata, &blob.SetMetadataOptions{
		AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: &etag}},
	})
	if err != nil {
		return "", time.Time{}, err
	}
	return *changed.ETag, *changed.LastModified, nil
}
