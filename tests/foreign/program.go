package main

import (
	"crypto/sha256"
	"os"
	"runtime/pprof"
	"time"
)

func inner(n int) (sum int) {
	for i := 0; i < n; i++ {
		sum += i * i % 7
	}
	return
}
func outer(end time.Time) {
	data := make([]byte, 100000)
	for time.Now().Before(end) {
		inner(100000)
		sha256.Sum256(data)
	}
}
func main() {
	file, _ := os.Create(os.Args[1])
	pprof.StartCPUProfile(file)
	outer(time.Now().Add(500 * time.Millisecond))
	pprof.StopCPUProfile()
	heap, _ := os.Create(os.Args[2])
	pprof.WriteHeapProfile(heap)
	heap.Close()
}
