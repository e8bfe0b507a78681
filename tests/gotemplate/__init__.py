"""The program that executes templates as Go and sprig do, in the versions that its `go.mod` pins."""
